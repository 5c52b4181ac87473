import { isOpen, type ManifestDay } from '../cold/manifest';
import { DAY_MS } from '../model/duration';
import { type Day, dayStartMs, type PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { type ArchiveDependencies, archiveDay } from './execute';
import { purgeDay } from './purge';
import { type ExpiredCount, expireDay, isExpired } from './retention';

/**
 * The result of one run of the archiver. A run has limited time, so operator commands repeat runs until nothing
 * remains.
 */
export interface ArchiveCount {
  /** Number of partition-days archived. */
  readonly archived: number;
  /** Number of warm items removed by the purge. */
  readonly purged: number;
  /** Number of partition-days that are still open. */
  readonly remaining: number;
  /**
   * Number of partition-days that still have warm items after the purge, because the archive does not hold these items,
   * or has not held them for long enough. 0 if the run does not purge.
   */
  readonly unpurged: number;
  /** Number of partition-days removed because their retention has ended. */
  readonly expired: number;
  /** Number of archive objects removed because the retention of their day has ended. */
  readonly expiredObjects: number;
  /** Number of partition-days that failed; a partition whose days cannot be read counts as one. */
  readonly failed: number;
  /** How long ago the oldest remaining day should have been archived, in ms; 0 if no day is late. */
  readonly lagMs: number;
}

/** The parameters of one run of the archiver. */
export interface ArchiveRun {
  /** Archives only days that end at this time or earlier, as Unix time in ms. */
  readonly beforeMs: number;
  /** Returns how long the samples of a partition can be read, in ms. Older days are removed. */
  readonly retentionMs: (ref: PartitionRef) => number;
  /** How long after its end a day should be archived, in ms. */
  readonly archiveAfterMs: number;
  /** Size at which the archiver ends an object and begins another, in bytes. */
  readonly partBytes: number;
  /** Minimum time from a day's commit to the purge of its warm items, in ms; undefined purges nothing. */
  readonly purgeAgeMs: number | undefined;
  /** Called before each partition-day. Returns whether there is time to begin it. */
  readonly hasTime: () => boolean;
  /** Called within a partition-day. Returns whether to stop. The next run continues the day. */
  readonly mustStop: () => boolean;
  /** Called with all days of a partition, before the first is archived. */
  readonly onDays?: ((ref: PartitionRef, days: readonly ManifestDay[]) => Promise<void>) | undefined;
  /** Called for every day that this run archived or removed. */
  readonly onChanged?: (ref: PartitionRef) => void;
  /** Called for every day from which data was removed because the day's retention has ended. */
  readonly onExpired?: (ref: PartitionRef, day: Day, count: ExpiredCount) => void;
  /**
   * Called for every day that failed, and with `all` if the days of a partition cannot be read. The run continues with
   * the other days.
   */
  readonly onFailure: (ref: PartitionRef, day: Day | 'all', error: Error) => void;
}

/** Maximum number of partition-days processed at the same time. Each takes up to about 200 MB in the archiver. */
const WORKERS = 4;
/** Maximum number of partitions whose manifest entries are read at the same time. */
const PARTITIONS_AT_ONCE = 16;

const NOTHING: ArchiveCount = {
  archived: 0,
  purged: 0,
  remaining: 0,
  unpurged: 0,
  expired: 0,
  expiredObjects: 0,
  failed: 0,
  lagMs: 0,
};

/**
 * Archives the open days of partitions, and removes expired days. Then purges warm items if the run says so. If a day
 * fails, the run continues with the other days. Tenants take turns.
 */
export async function archivePartitions(
  dependencies: ArchiveDependencies,
  partitions: readonly PartitionRef[],
  run: ArchiveRun,
): Promise<ArchiveCount> {
  const { now } = dependencies;
  const hasExpired = (ref: PartitionRef, { day }: ManifestDay) => isExpired(day, now(), run.retentionMs(ref));
  const isToDo = (ref: PartitionRef, entry: ManifestDay) =>
    isOpen(entry) || entry.isUnswept === true || hasExpired(ref, entry);
  const count = await eachDay(dependencies, partitions, run, isToDo, (ref, entry) =>
    hasExpired(ref, entry) ? expire(dependencies, ref, entry, run) : archive(dependencies, ref, entry, run),
  );
  const { purgeAgeMs } = run;
  if (purgeAgeMs === undefined) return count;
  // Purging comes last, because it is less urgent.
  const purged = await eachDay(
    dependencies,
    partitions,
    { ...run, onDays: undefined },
    () => true,
    async (ref, entry) => {
      if (!run.hasTime()) return { unpurged: 1 };
      const { items, remains } = await purgeDay(dependencies, ref, entry, purgeAgeMs);
      return { purged: items, unpurged: remains ? 1 : 0 };
    },
  );
  return add(count, purged);
}

async function archive(
  dependencies: ArchiveDependencies,
  ref: PartitionRef,
  entry: ManifestDay,
  { hasTime, mustStop, partBytes, archiveAfterMs, onChanged }: ArchiveRun,
): Promise<Partial<ArchiveCount>> {
  const dueMs = dayStartMs(entry.day) + DAY_MS + archiveAfterMs;
  const late = { remaining: 1, lagMs: Math.max(0, dependencies.now() - dueMs) };
  if (!hasTime()) return isOpen(entry) ? late : {};
  const isArchived = await archiveDay(dependencies, ref, entry, { partBytes, mustStop });
  if (!isArchived) return late;
  onChanged?.(ref);
  return isOpen(entry) ? { archived: 1 } : {};
}

async function expire(
  dependencies: ArchiveDependencies,
  ref: PartitionRef,
  entry: ManifestDay,
  { hasTime, onExpired, onChanged }: ArchiveRun,
): Promise<Partial<ArchiveCount>> {
  if (!hasTime()) return {};
  const count = await expireDay(dependencies, ref, entry, hasTime);
  onChanged?.(ref);
  onExpired?.(ref, entry.day, count);
  return { expired: count.isDone ? 1 : 0, expiredObjects: count.objects };
}

interface DayOfPartition {
  readonly ref: PartitionRef;
  readonly entry: ManifestDay;
}

/**
 * Calls `work` for each day that ends by `beforeMs` and satisfies `isToDo`. Works on several days at the same
 * time. Tenants take turns.
 *
 * @returns the sum of the counts
 */
async function eachDay(
  { manifest }: ArchiveDependencies,
  partitions: readonly PartitionRef[],
  { beforeMs, onDays, onFailure }: ArchiveRun,
  isToDo: (ref: PartitionRef, entry: ManifestDay) => boolean,
  work: (ref: PartitionRef, entry: ManifestDay) => Promise<Partial<ArchiveCount>>,
): Promise<ArchiveCount> {
  let unread = 0;
  const found = await mapLimited(partitions, PARTITIONS_AT_ONCE, async (ref): Promise<DayOfPartition[]> => {
    try {
      const days = await manifest.days(ref, '1970-01-01', '9999-12-31');
      await onDays?.(ref, days);
      return days
        .filter((entry) => dayStartMs(entry.day) + DAY_MS <= beforeMs && isToDo(ref, entry))
        .map((entry) => ({ ref, entry }));
    } catch (error) {
      unread++;
      onFailure(ref, 'all', error as Error);
      return [];
    }
  });
  const byTenant = Map.groupBy(found.flat(), ({ ref }) => ref.tenantId);
  const counts = await mapLimited(inTurns(byTenant.values()), WORKERS, async ({ ref, entry }) => {
    try {
      return await work(ref, entry);
    } catch (error) {
      onFailure(ref, entry.day, error as Error);
      return { failed: 1 };
    }
  });
  return counts.reduce(add, { ...NOTHING, failed: unread });
}

/** Merges lists: the first item of each list comes first, then the second item of each list, and so on. */
export function inTurns<T>(lists: Iterable<readonly T[]>): T[] {
  const turns: T[][] = [];
  for (const list of lists)
    list.forEach((item, i) => {
      turns[i] ??= [];
      turns[i].push(item);
    });
  return turns.flat();
}

function add(a: ArchiveCount, b: Partial<ArchiveCount>): ArchiveCount {
  return {
    archived: a.archived + (b.archived ?? 0),
    purged: a.purged + (b.purged ?? 0),
    remaining: a.remaining + (b.remaining ?? 0),
    unpurged: a.unpurged + (b.unpurged ?? 0),
    expired: a.expired + (b.expired ?? 0),
    expiredObjects: a.expiredObjects + (b.expiredObjects ?? 0),
    failed: a.failed + (b.failed ?? 0),
    lagMs: Math.max(a.lagMs, b.lagMs ?? 0),
  };
}
