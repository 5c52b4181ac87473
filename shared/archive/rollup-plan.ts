import { type ArchivedDay, identityOf, isOpen, type ManifestDay } from '../cold/manifest';
import { NO_STATE, type SpanState, sortOf } from '../cold/rollup-directory';
import { type RollupSpan, spanOf, UNITS_MS } from '../cold/rollup-span';
import type { Day } from '../model/placement';

/** A day of a span that is archived and not open. */
export interface ClosedDay {
  readonly day: Day;
  readonly identity: string;
  readonly archived: ArchivedDay;
}

/** A span whose objects are to be written again. */
export interface SpanPlan {
  readonly span: RollupSpan;
  /** The state's text, for the commit; undefined when there is none. */
  readonly previous: string | undefined;
  readonly state: SpanState;
  readonly closed: readonly ClosedDay[];
  /** Open days, whose old units stay: no read uses them before the day is as it was. */
  readonly open: readonly Day[];
}

/** A span that has lost its last day to retention. */
export interface SpanRemoval extends Omit<SpanPlan, 'closed' | 'open'> {
  readonly closed?: undefined;
}

/**
 * Plans which spans of a partition are rolled up: those with a day that was archived again since.
 *
 * @param days all days of the partition's manifest
 * @param states as the directory has them, by sort key
 */
export function planSpans(
  days: readonly ManifestDay[],
  states: ReadonlyMap<string, string>,
): (SpanPlan | SpanRemoval)[] {
  const plans: (SpanPlan | SpanRemoval)[] = [];
  const seen = new Set<string>();
  for (const unitMs of UNITS_MS)
    for (const [, own] of Map.groupBy(days, ({ day }) => spanOf(unitMs, day).name)) {
      const span = spanOf(unitMs, own[0]!.day);
      const previous = states.get(sortOf(span));
      seen.add(sortOf(span));
      const state = stateOf(previous);
      const closed = own.flatMap((entry): ClosedDay[] =>
        isOpen(entry)
          ? []
          : [{ day: entry.day, identity: identityOf(entry.archived!), archived: entry.archived! }],
      );
      const isChanged = closed.some(({ day, identity, archived: { changes } }) => {
        const rolled = state.days[day];
        return rolled === undefined || rolled[0] !== identity || rolled[1] !== changes;
      });
      if (isChanged)
        plans.push({ span, previous, state, closed, open: own.filter(isOpen).map(({ day }) => day) });
    }
  for (const [sort, previous] of states) {
    const state = stateOf(previous);
    const [day] = Object.keys(state.days);
    if (seen.has(sort) || day === undefined) continue;
    plans.push({
      span: spanOf(UNITS_MS.find((unitMs) => sortOf(spanOf(unitMs, day)) === sort)!, day),
      previous,
      state,
    });
  }
  return plans;
}

function stateOf(text: string | undefined): SpanState {
  return text === undefined ? NO_STATE : (JSON.parse(text) as SpanState);
}
