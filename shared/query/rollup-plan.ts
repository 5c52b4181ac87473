import type { Erasure } from '../codec';
import { identityOf, isOpen, type ManifestDay } from '../cold/manifest';
import type { RolledSource } from '../cold/rollup-directory';
import { groupDays } from '../cold/rollup-format';
import { deletionsKey, identityBytes, spanOf } from '../cold/rollup-span';
import type { SealedDay } from '../cold/seal';
import type { VersionedDeletion } from '../model/deletion';
import { DAY_MS } from '../model/duration';
import { type Day, dayStartMs, type GroupId, splitBitsOfGroup } from '../model/placement';
import type { TimeRange } from '../model/selection';

/** What a read knows before it reads the archive. */
export interface RollupFacts {
  /** Length of the units that the read's steps are made of: see {@link storedUnitMs}. */
  readonly unitMs: number;
  readonly range: TimeRange;
  /** The days that the manifest lists. */
  readonly entries: readonly ManifestDay[];
  /** Days whose entries were not asked for, as seals tell what they are. */
  readonly sealed: readonly SealedDay[];
  /** The source's rollups, by the name of their span. */
  readonly listed: ReadonlyMap<string, RolledSource>;
  /** Groups that may hold the wanted series. */
  readonly groups: readonly GroupId[];
  /** Whether memory, or the warm table as it was asked, may have samples of a day. */
  readonly isElsewhere: (day: Day) => boolean;
  /** The source's deletions, and those of the wanted series. */
  readonly deletions: readonly VersionedDeletion[];
  readonly erasures: readonly Pick<Erasure, 'fromMs' | 'toMs'>[];
}

/** A rollup's object, and of which days a read takes its units. */
export interface RollupPlan {
  readonly source: RolledSource;
  /** Half-open, ascending, each within a day. */
  readonly ranges: readonly TimeRange[];
}

/**
 * Plans which archived days a read takes from rollups. A day's rollup counts if
 *
 * - the manifest, or a seal, names the very state of the archive that it was made of, and the day is not open,
 * - no other tier may have samples of the day,
 * - all deletions of the series that touch the day had been applied,
 * - the read wants whole units of the day,
 * - no series may lie in two groups, since the source was split anew that day,
 * - no group of the series was left out.
 *
 * Every other day is read as samples; `unlisted` are those whose entries must be asked for first.
 */
export function planRollups(facts: RollupFacts): {
  readonly rollups: readonly RollupPlan[];
  readonly samples: readonly ManifestDay[];
  readonly unlisted: readonly Day[];
} {
  const { unitMs, entries, sealed, listed } = facts;
  const samples: ManifestDay[] = [];
  const unlisted: Day[] = [];
  const ranges = new Map<string, TimeRange[]>();
  const exact = new Map<string, RangeOf>();
  const days =
    sealed.length === 0 ? entries : [...sealed, ...entries].sort((a, b) => (a.day < b.day ? -1 : 1));
  for (const entry of days) {
    const { name } = spanOf(unitMs, entry.day);
    const source = listed.get(name);
    const rangeOf = source && (exact.get(name) ?? exactness(facts, source));
    if (rangeOf !== undefined) exact.set(name, rangeOf);
    const range = rangeOf?.(entry);
    if (range === undefined) {
      if ('state' in entry) unlisted.push(entry.day);
      else samples.push(entry);
    } else {
      const own = ranges.get(name);
      if (own === undefined) ranges.set(name, [range]);
      else own.push(range);
    }
  }
  return {
    rollups: [...ranges].map(([name, of]) => ({ source: listed.get(name)!, ranges: of })),
    samples,
    unlisted,
  };
}

/** Which part of a day the read takes from a rollup; undefined for none. */
type RangeOf = (entry: ManifestDay | SealedDay) => TimeRange | undefined;

/** Hash of the archived state that has all of a day; undefined when a later tier may have more. */
function stateOf(entry: ManifestDay | SealedDay): Buffer | undefined {
  if ('state' in entry) return entry.state;
  return isOpen(entry) ? undefined : identityBytes(identityOf(entry.archived!));
}

function exactness(
  { unitMs, range, groups, isElsewhere, deletions, erasures }: RollupFacts,
  source: RolledSource,
): RangeOf {
  const knowsDeletions = source.deletions === deletionsKey(deletions, source.span);
  if (source.omitted.some((group) => groups.includes(group))) return () => undefined;
  const splitDays = daysOfSeveralSplits(source, groups);
  return (entry) => {
    const { day } = entry;
    const state = stateOf(entry);
    const startMs = dayStartMs(day);
    const fromMs = Math.max(startMs, range.fromMs);
    const toMs = Math.min(startMs + DAY_MS, range.toMs);
    const isExact =
      state !== undefined &&
      source.days.hasBytes(day, state) &&
      !isElsewhere(day) &&
      (knowsDeletions || !erasures.some((erasure) => erasure.fromMs < toMs && erasure.toMs > fromMs)) &&
      fromMs % unitMs === 0 &&
      toMs % unitMs === 0 &&
      !splitDays.has(startMs);
    return isExact ? { fromMs, toMs } : undefined;
  };
}

/** Starts of the days of which groups of several splits have units. */
function daysOfSeveralSplits({ groups }: RolledSource, asked: readonly GroupId[]): ReadonlySet<number> {
  const bySplit = Map.groupBy(
    groups.filter(({ group }) => asked.includes(group)),
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
