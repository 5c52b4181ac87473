import type { ArchivedDay } from '../cold/archived-day';
import { isOpen, type ManifestDay } from '../cold/manifest';
import { isRemoved, NO_STATE, type SpanState, sortOf, spanOfSort } from '../cold/rollup-directory';
import { GRAINS_MS, type RollupSpan, spanOf } from '../cold/rollup-span';
import type { Day } from '../model/placement';

/** An archived day that is not open, so the archive has all of the day's samples. */
export interface ClosedDay {
  readonly day: Day;
  readonly archived: ArchivedDay;
}

/** A span ({@link RollupSpan}) whose rollup objects must be rewritten. */
export interface SpanPlan {
  readonly span: RollupSpan;
  /**
   * The text of the span's state in the table; undefined if there is none. The commit succeeds only if the text has not
   * changed.
   */
  readonly previous: string | undefined;
  /**
   * The decoded `previous`; {@link NO_STATE} if there is none. The aggregates of unchanged days are copied from the
   * objects of this state.
   */
  readonly state: SpanState;
  readonly closed: readonly ClosedDay[];
  /**
   * Open days. Their aggregates are copied from the old objects. A read uses them only once the day is closed again,
   * and only if the day's archived state is still the one from which they were made.
   */
  readonly open: readonly Day[];
}

/** A span whose rollups must be removed: its last day has expired. */
export interface SpanRemoval extends Omit<SpanPlan, 'closed' | 'open'> {
  readonly closed?: undefined;
}

/**
 * Plans which spans of a partition must be rolled up again, and which must be removed. A span must be rolled up if
 * one of its archived days has changed since the span's rollup was made.
 *
 * @param days all days in the partition's manifest
 * @param states the stored states of the partition's spans, as strings, keyed by sort key
 */
export function planSpans(
  days: readonly ManifestDay[],
  states: ReadonlyMap<string, string>,
): (SpanPlan | SpanRemoval)[] {
  const plans: (SpanPlan | SpanRemoval)[] = [];
  const seen = new Set<string>();
  for (const grainMs of GRAINS_MS)
    for (const [, own] of Map.groupBy(days, ({ day }) => spanOf(grainMs, day).name)) {
      const span = spanOf(grainMs, own[0]!.day);
      const previous = states.get(sortOf(span));
      seen.add(sortOf(span));
      const state = stateOf(previous);
      const closed = own.flatMap((entry): ClosedDay[] =>
        isOpen(entry) ? [] : [{ day: entry.day, archived: entry.archived! }],
      );
      const isChanged = closed.some(({ day, archived: { identity, announcements } }) => {
        const rolled = state.days[day];
        return rolled === undefined || rolled[0] !== identity || rolled[1] !== announcements;
      });
      if (isChanged)
        plans.push({ span, previous, state, closed, open: own.filter(isOpen).map(({ day }) => day) });
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
