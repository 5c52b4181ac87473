import type { ArchivedDay } from '../cold/archived-day';
import { isOpen, type ManifestDay, sizeOf } from '../cold/manifest';
import { isRemoved, NO_STATE, type SpanState, sortOf, spanOfSort } from '../cold/rollup-directory';
import { type RollupSpan, spanOf } from '../cold/rollup-span';
import { DENSE_INTERVAL_MS, MINUTE_MS } from '../model/aggregates';
import { DAY_MS } from '../model/duration';
import type { Day } from '../model/placement';

/** A group with more samples than this per series and day is dense: minute rollups are stored for it. */
export const DENSE_SAMPLES = DAY_MS / DENSE_INTERVAL_MS;

/** A day of a span that is archived and not open. */
export interface ClosedDay {
  readonly day: Day;
  readonly archived: ArchivedDay;
}

/** A span whose objects must be rewritten. */
export interface SpanPlan {
  readonly span: RollupSpan;
  /** The state as stored text, for the commit; undefined when there is none. */
  readonly previous: string | undefined;
  readonly state: SpanState;
  /**
   * The span's previous state. The rollup grains of days that have not changed are copied from it. A span of
   * minute rollups covers only one day, so it is always made from samples.
   */
  readonly copied: SpanState;
  readonly closed: readonly ClosedDay[];
  /**
   * Open days. Their grains are copied from the old objects, but reads use these grains only if the day returns
   * to the archived state from which they were made.
   */
  readonly open: readonly Day[];
}

/** A span to remove: its last day has expired, or the stage no longer stores its grain. */
export interface SpanRemoval extends Omit<SpanPlan, 'copied' | 'closed' | 'open'> {
  readonly closed?: undefined;
}

/**
 * Plans which spans of a partition must be rolled up: those with a day that was archived after their last
 * rollup.
 *
 * @param days all days of the partition's manifest
 * @param states the directory's states of spans, by sort key
 * @param grainsMs lengths of the grains that the stage stores
 * @param denseSamples see {@link DENSE_SAMPLES}
 */
export function planSpans(
  days: readonly ManifestDay[],
  states: ReadonlyMap<string, string>,
  grainsMs: readonly number[],
  denseSamples: number = DENSE_SAMPLES,
): (SpanPlan | SpanRemoval)[] {
  const plans: (SpanPlan | SpanRemoval)[] = [];
  const seen = new Set<string>();
  /** A day with too few samples to have a dense group needs no minute rollups. */
  const mayBeDense = ({ archived }: ManifestDay) =>
    archived === undefined || sizeOf(archived).samples > denseSamples;
  for (const grainMs of grainsMs) {
    const rolled = grainMs === MINUTE_MS ? days.filter(mayBeDense) : days;
    for (const [, own] of Map.groupBy(rolled, ({ day }) => spanOf(grainMs, day).name)) {
      const span = spanOf(grainMs, own[0]!.day);
      const previous = states.get(sortOf(span));
      seen.add(sortOf(span));
      const state = stateOf(previous);
      const closed = own.flatMap((entry): ClosedDay[] =>
        isOpen(entry) ? [] : [{ day: entry.day, archived: entry.archived! }],
      );
      const isChanged = closed.some(({ day, archived: { identity, changes } }) => {
        const rolled = state.days[day];
        return rolled === undefined || rolled[0] !== identity || rolled[1] !== changes;
      });
      const copied = grainMs === MINUTE_MS ? NO_STATE : state;
      if (isChanged)
        plans.push({ span, previous, state, copied, closed, open: own.filter(isOpen).map(({ day }) => day) });
    }
  }
  for (const [sort, previous] of states) {
    const state = stateOf(previous);
    if (!seen.has(sort) && !isRemoved(state)) plans.push({ span: spanOfSort(sort), previous, state });
  }
  return plans;
}

function stateOf(text: string | undefined): SpanState {
  return text === undefined ? NO_STATE : (JSON.parse(text) as SpanState);
}
