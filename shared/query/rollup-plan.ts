import type { Tombstone } from '../codec';
import { isOpen, type ManifestDay } from '../cold/manifest';
import type { RolledSource } from '../cold/rollup-directory';
import { groupDays } from '../cold/rollup-format';
import type { RequestedRollup } from '../cold/rollup-read';
import { deletionsKey, spanOf } from '../cold/rollup-span';
import type { VersionedDeletion } from '../model/deletion';
import { DAY_MS } from '../model/duration';
import { type Day, dayStartMs, type GroupId, splitBitsOfGroup } from '../model/placement';
import type { RequestedGrains } from '../model/sample-columns';
import type { TimeRange } from '../model/selection';

/** Facts about a read that are known before it reads the archive. */
export interface RollupFacts {
  readonly grains: Pick<RequestedGrains, 'grainMs' | 'edges'>;
  readonly range: TimeRange;
  /** The manifest's entries of the days to read, ascending. */
  readonly entries: readonly ManifestDay[];
  /** The source's rollups, by span name. */
  readonly rolledUp: ReadonlyMap<string, RolledSource>;
  /** Groups that may contain the wanted series. */
  readonly groups: readonly GroupId[];
  /** Whether memory or the warm table may have samples of a day. */
  readonly isElsewhere: (day: Day) => boolean;
  /** All deletions of the source. */
  readonly deletions: readonly VersionedDeletion[];
  /** Tombstones of the wanted series. */
  readonly tombstones: readonly Pick<Tombstone, 'fromMs' | 'toMs'>[];
}

/** The part of a rollup object to read. */
export interface RollupPlan extends RequestedRollup {
  /** Number of days that the ranges touch, including days of which the read needs only a part. */
  readonly days: number;
}

/**
 * Plans which archived days a read takes from rollups. The read uses a day's rollup if all of the following hold:
 *
 * - The manifest names exactly the archived state from which the rollup was made, and the day is not open.
 * - No other tier may have samples of the day.
 * - All deletions of the series that overlap the day have been applied to the rollup.
 * - The part of the day that the read needs begins and ends at edges of grains. With exact ranges, `(start, end]`, it
 *   may begin or end 1 ms after an edge: a sample exactly at an edge belongs to the range before.
 * - The source was not split into another number of groups on that day. On such a day, a series may be in two
 *   groups.
 * - The rollup excludes none of the groups that may have the series.
 *
 * The read takes all other days from samples.
 */
export function planRollups(facts: RollupFacts): {
  readonly rollups: readonly RollupPlan[];
  readonly samples: readonly ManifestDay[];
} {
  const { range, entries } = facts;
  const samples: ManifestDay[] = [];
  const spans: SpanRead[] = [];
  for (const entry of entries) {
    const startMs = dayStartMs(entry.day);
    let span = spans.at(-1);
    if (span === undefined || startMs >= span.toMs) {
      span = planSpan(facts, entry.day);
      spans.push(span);
    }
    const fromMs = Math.max(startMs, range.fromMs);
    const toMs = Math.min(startMs + DAY_MS, range.toMs);
    if (span.isExact(entry, fromMs, toMs)) {
      const last = span.ranges.at(-1);
      if (last?.toMs === fromMs) last.toMs = toMs;
      else span.ranges.push({ fromMs, toMs });
      span.days++;
    } else samples.push(entry);
  }
  return {
    rollups: spans.flatMap(({ source, ranges, days }) =>
      source === undefined || days === 0 ? [] : [{ source, ranges, days }],
    ),
    samples,
  };
}

/** The part of a span to be read, while the read is being planned. */
interface SpanRead {
  readonly toMs: number;
  readonly source: RolledSource | undefined;
  readonly isExact: IsExact;
  readonly ranges: { fromMs: number; toMs: number }[];
  days: number;
}

function planSpan(facts: RollupFacts, day: Day): SpanRead {
  const { name, toMs } = spanOf(facts.grains.grainMs, day);
  const source = facts.rolledUp.get(name);
  const isExact = source === undefined ? () => false : exactness(facts, source);
  return { toMs, source, isExact, ranges: [], days: 0 };
}

/**
 * Returns whether a rollup can replace the samples of a day without changing the result. The read needs the part of the
 * day from `fromMs` to `toMs`.
 */
type IsExact = (entry: ManifestDay, fromMs: number, toMs: number) => boolean;

function exactness(
  { grains: { grainMs, edges }, groups, isElsewhere, deletions, tombstones }: RollupFacts,
  source: RolledSource,
): IsExact {
  const knowsDeletions = source.deletions === deletionsKey(deletions, source.span);
  if (source.excluded.some((group) => groups.includes(group))) return () => false;
  const splitDays = daysOfSeveralSplits(source, groups);
  const isEdge = (ms: number) => ms % grainMs === 0 || (edges === 'exact' && ms % grainMs === 1);
  return (entry, fromMs, toMs) => {
    const { day, archived } = entry;
    return (
      archived !== undefined &&
      !isOpen(entry) &&
      source.days.has(day, archived.identity) &&
      !isElsewhere(day) &&
      (knowsDeletions ||
        !tombstones.some((tombstone) => tombstone.fromMs < toMs && tombstone.toMs > fromMs)) &&
      isEdge(fromMs) &&
      isEdge(toMs) &&
      !splitDays.has(dayStartMs(day))
    );
  };
}

/**
 * Returns the starts of the days that have grains in groups of different splits. A split is a division of the source
 * into some number of groups.
 */
function daysOfSeveralSplits({ groups }: RolledSource, requested: readonly GroupId[]): ReadonlySet<number> {
  const bySplit = Map.groupBy(
    groups.filter(({ group }) => requested.includes(group)),
    ({ group }) => splitBitsOfGroup(group),
  );
  const several = new Set<number>();
  if (bySplit.size <= 1) return several;
  const seen = new Set<number>();
  for (const own of bySplit.values()) {
    const days = new Set(own.flatMap((listed) => [...groupDays(listed)]));
    for (const day of days) if (seen.has(day)) several.add(day);
    for (const day of days) seen.add(day);
  }
  return several;
}
