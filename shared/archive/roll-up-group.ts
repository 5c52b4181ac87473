import { applyTombstones } from '../codec';
import type { MadeGroup } from '../cold/rollup-format';
import { joinRolled, NO_GRAINS, type RolledGroup, rollUp, sliceRolled } from '../cold/rollup-grains';
import { deletionsKey, SpanDays } from '../cold/rollup-span';
import { tombstonesOf, type VersionedDeletion } from '../model/deletion';
import { DAY_MS } from '../model/duration';
import { mergeLayouts } from '../model/layout';
import { mergeLayoutBlocks } from '../model/layout-block';
import { type Day, dayStartMs, type GroupId } from '../model/placement';
import type { DayObjects } from './day-objects';
import type { ClosedDay, SpanPlan } from './rollup-plan';

/**
 * Maximum number of series that a group may have in a span. A group with more is not rolled up, so reads use its
 * samples.
 */
const MAX_SERIES = 4096;

/**
 * Computes the rollup of one group in a span: the group's aggregates for each hour or day. Copies the aggregates of
 * unchanged days from the old rollup. Computes the aggregates of the other days from samples.
 *
 * @param before the group in the old rollup; undefined if the old rollup lacks it
 * @param deletions all deletions of the group's source
 * @returns `nothing` if the group has no samples in the span; `excluded` if it cannot be rolled up
 */
export async function makeGroup(
  group: GroupId,
  { span, state, closed, open }: SpanPlan,
  before: MadeGroup | undefined,
  days: DayObjects,
  deletions: readonly VersionedDeletion[],
): Promise<MadeGroup | 'nothing' | 'excluded'> {
  const key = deletionsKey(deletions, span);
  const known = before && new SpanDays(span, before.days);
  const isDeletedFrom = (day: Day) => {
    const startMs = dayStartMs(day);
    return (
      before?.deletions !== key &&
      deletions.some(({ fromMs, toMs }) => fromMs < startMs + DAY_MS && toMs > startMs)
    );
  };
  const spanDays = new SpanDays(span);
  const parts: RolledGroup[] = [];
  const copy = (day: Day) => {
    const startMs = dayStartMs(day);
    const { layout, series } = before!;
    parts.push({ layout, series: series.map((each) => sliceRolled(each, startMs, startMs + DAY_MS)) });
    spanDays.copy(day, known!);
  };
  const inOrder = [...closed, ...open.map((day) => ({ day, archived: undefined }))].sort((a, b) =>
    a.day < b.day ? -1 : 1,
  );
  for (const entry of inOrder) {
    const { day } = entry;
    if (entry.archived === undefined) {
      if (before !== undefined && !isDeletedFrom(day)) copy(day);
    } else if (known?.has(day, entry.archived.identity) && !isDeletedFrom(day)) copy(day);
    else if (before === undefined && state.days[day]?.[0] === entry.archived.identity)
      // The old rollup was made from this state of the day and lacks the group, so the group has no samples on this
      // day.
      spanDays.set(day, entry.archived.identity);
    else {
      const rolled = await rollUpDay(group, entry, span.grainMs, days, deletions);
      if (rolled !== undefined) parts.push(rolled);
      spanDays.set(day, entry.archived.identity);
    }
  }
  const joined = joinGroups(parts);
  return typeof joined === 'string' ? joined : { ...joined, days: spanDays.bytes, deletions: key };
}

/** Aggregates the samples of a group on one day. Returns undefined if the group has no samples. */
async function rollUpDay(
  group: GroupId,
  day: ClosedDay,
  grainMs: number,
  days: DayObjects,
  deletions: readonly VersionedDeletion[],
): Promise<RolledGroup | undefined> {
  const stored = await days.load(day, group);
  if (stored.length === 0) return undefined;
  const { block, layout } = mergeLayoutBlocks(stored.map((each) => each.decode()));
  const remaining = applyTombstones(block, tombstonesOf(deletions, layout.series));
  return { layout, series: rollUp(remaining, grainMs) };
}

/**
 * Joins the rollups of a group's days into one. A series without samples on a day has no aggregates for that day.
 *
 * @param parts ascending by day
 */
function joinGroups(parts: readonly RolledGroup[]): RolledGroup | 'nothing' | 'excluded' {
  const full = parts.filter(({ series }) => series.some(({ starts }) => starts.length > 0));
  if (full.length === 0) return 'nothing';
  const layout = mergeLayouts(full.map((part) => part.layout));
  if (layout.series.length > MAX_SERIES) return 'excluded';
  const series = [...layout.columns.keys()].map((key) =>
    joinRolled(
      full.map((part) => {
        const column = part.layout.columns.get(key);
        return column === undefined ? NO_GRAINS : part.series[column]!;
      }),
    ),
  );
  return { layout, series };
}
