import { eraseSamples } from '../codec';
import type { MadeGroup } from '../cold/rollup-format';
import { joinRolled, NO_GRAINS, type RolledGroup, rollUp, sliceRolled } from '../cold/rollup-grains';
import { deletionsKey, RolledDays } from '../cold/rollup-span';
import { erasuresOf, type VersionedDeletion } from '../model/deletion';
import { DAY_MS } from '../model/duration';
import { unionLayout } from '../model/layout';
import { mergeLayoutBlocks } from '../model/layout-block';
import { type Day, dayStartMs, type GroupId } from '../model/placement';
import type { DayObjects } from './day-objects';
import type { ClosedDay, SpanPlan } from './rollup-plan';

/** A group with more series than this in a span is not rolled up; reads use its samples. */
const MAX_SERIES = 4096;

/**
 * Makes a group's grains in a span: copies the grains of days that did not change, and aggregates the other
 * days.
 */
export async function makeGroup(
  group: GroupId,
  { span, copied, closed, open }: SpanPlan,
  before: MadeGroup | undefined,
  days: DayObjects,
  deletions: readonly VersionedDeletion[],
): Promise<MadeGroup | 'nothing' | 'excluded'> {
  const key = deletionsKey(deletions, span);
  const known = before && new RolledDays(span, before.days);
  const isDeletedFrom = (day: Day) => {
    const startMs = dayStartMs(day);
    return (
      before?.deletions !== key &&
      deletions.some(({ fromMs, toMs }) => fromMs < startMs + DAY_MS && toMs > startMs)
    );
  };
  const rolledDays = new RolledDays(span);
  let isWhole = true;
  const parts: RolledGroup[] = [];
  const copy = (day: Day) => {
    const startMs = dayStartMs(day);
    const { layout, series } = before!;
    parts.push({ layout, series: series.map((each) => sliceRolled(each, startMs, startMs + DAY_MS)) });
    rolledDays.copy(day, known!);
  };
  const inOrder = [...closed, ...open.map((day) => ({ day, archived: undefined }))].sort((a, b) =>
    a.day < b.day ? -1 : 1,
  );
  for (const entry of inOrder) {
    const { day } = entry;
    if (entry.archived === undefined) {
      if (before !== undefined && !isDeletedFrom(day)) copy(day);
    } else if (known?.has(day, entry.archived.identity) && !isDeletedFrom(day)) copy(day);
    else if (before === undefined && copied.days[day]?.[0] === entry.archived.identity)
      // The day was rolled up before, and had no samples of the group.
      rolledDays.set(day, entry.archived.identity);
    else {
      const rolled = await rollUpDay(group, entry, span.grainMs, days, deletions);
      if (rolled === undefined) {
        isWhole = false;
        continue;
      }
      if (rolled !== 'nothing') parts.push(rolled);
      rolledDays.set(day, entry.archived.identity);
    }
  }
  const joined = joinGroups(parts);
  if (joined === 'nothing') return isWhole ? 'nothing' : 'excluded';
  return joined === 'excluded' ? joined : { ...joined, days: rolledDays.bytes, deletions: key };
}

/**
 * Aggregates a group's samples of a day. @returns undefined when a sum cannot be stored; reads then use the
 * day's samples
 */
async function rollUpDay(
  group: GroupId,
  day: ClosedDay,
  grainMs: number,
  days: DayObjects,
  deletions: readonly VersionedDeletion[],
): Promise<RolledGroup | 'nothing' | undefined> {
  const stored = await days.load(day, group);
  if (stored.length === 0) return 'nothing';
  const { block, layout } = mergeLayoutBlocks(stored.map((each) => each.decode()));
  const series = rollUp(eraseSamples(block, erasuresOf(deletions, layout.series)), grainMs);
  return series && { layout, series };
}

/** Joins the grains of a group's days. @param parts ascending by day */
function joinGroups(parts: readonly RolledGroup[]): RolledGroup | 'nothing' | 'excluded' {
  const full = parts.filter(({ series }) => series.some(({ starts }) => starts.length > 0));
  if (full.length === 0) return 'nothing';
  const layout = unionLayout(full.map((part) => part.layout));
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
