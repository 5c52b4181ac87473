import { isOpen, type ManifestDay } from '../cold/manifest';
import { DAY_MS } from '../model/duration';
import { type Day, dayStartMs, type PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { type ArchiveDependencies, archiveDay } from './execute';
import { FairQueue } from './fair-queue';
import { isLongOverdue } from './look';
import { purgeDay } from './purge';
import { type ExpiredCount, expireDay, isExpired } from './retention';

/** The result of a slice of archiving. Operator commands repeat slices until nothing remains. */
export interface ArchiveCount {
  /** Partition-days archived. */
  readonly archived: number;
  /** Warm items removed. */
  readonly purged: number;
  /** Partition-days that are still open. */
  readonly remaining: number;
  /**
   * Partition-days with warm items that were not purged: the day is not archived, or too young in the
   * manifest.
   */
  readonly unpurged: number;
  /** Partition-days removed after the retention, and their objects. */
  readonly expired: number;
  readonly expiredObjects: number;
  /** Partition-days that failed. */
  readonly failed: number;
  /** How long ago the oldest day that is still open should have been archived; 0 when none is. */
  readonly lagMs: number;
}

export interface ArchiveTask {
  /** Only days that end at this time or earlier are archived, ms since epoch. */
  readonly beforeMs: number;
  /**
   * The first day to check of a partition; undefined: all days. If the partition is far behind, all its days
   * are checked anyway.
   */
  readonly fromDay: (ref: PartitionRef) => Day | undefined;
  /** How long a partition's samples can be read. Days are removed after that. */
  readonly retentionMs: (ref: PartitionRef) => number;
  /** How long after its end a day should be archived. */
  readonly archiveAfterMs: number;
  /** Bytes of an object: {@link ArchiveLimits}. */
  readonly partBytes: number;
  /** Minimum age of a manifest entry for purging its warm items; undefined: nothing is purged. */
  readonly purgeAgeMs: number | undefined;
  /** Asked before each partition-day. */
  readonly hasTime: () => boolean;
  /** Asked within a partition-day: whether to stop. The next invocation then continues with the day. */
  readonly mustStop: () => boolean;
  /**
   * Called with partitions whose rollups may be out of date: a day was archived or removed now, or archived
   * within {@link ACTIVE_MS}.
   */
  readonly onActive?: (ref: PartitionRef) => void;
  /** Called for every day that was removed because its retention ended. */
  readonly onExpired?: (ref: PartitionRef, day: Day, count: ExpiredCount) => void;
  /** Called for every failure; the other days go on. */
  readonly onFailure: (ref: PartitionRef, day: Day, error: Error) => void;
}

/** Partition-days worked on at the same time. Each takes at most some 200 MB of memory. */
const LANES = 4;
/** Partitions whose manifests are read at the same time. */
const LOOKS = 16;
/**
 * How long after a day was archived each slice checks the partition's rollups. Later, they are checked once a
 * day with the whole partition.
 */
const ACTIVE_MS = DAY_MS;
const FIRST_DAY = '1970-01-01';
const LAST_DAY = '9999-12-31';

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
 * Archives the open days of partitions and then, if asked to, purges warm items. A failed partition-day does
 * not stop others, and tenants take turns.
 */
export async function archivePartitions(
  dependencies: ArchiveDependencies,
  partitions: readonly PartitionRef[],
  task: ArchiveTask,
): Promise<ArchiveCount> {
  const { now } = dependencies;
  const hasExpired = (ref: PartitionRef, { day }: ManifestDay) =>
    isExpired(day, now(), task.retentionMs(ref));
  const isToDo = (ref: PartitionRef, entry: ManifestDay) =>
    isOpen(entry) || entry.isUnswept === true || hasExpired(ref, entry);
  const count = await eachDay(dependencies, partitions, task, isToDo, (ref, entry) =>
    hasExpired(ref, entry) ? expire(dependencies, ref, entry, task) : archive(dependencies, ref, entry, task),
  );
  const { purgeAgeMs } = task;
  if (purgeAgeMs === undefined) return count;
  // Purge after archiving: it is less urgent.
  const purged = await eachDay(
    dependencies,
    partitions,
    task,
    () => true,
    async (ref, entry) => {
      if (!task.hasTime()) return { unpurged: 1 };
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
  { hasTime, mustStop, partBytes, archiveAfterMs, onActive }: ArchiveTask,
): Promise<Partial<ArchiveCount>> {
  const dueMs = dayStartMs(entry.day) + DAY_MS + archiveAfterMs;
  const late = { remaining: 1, lagMs: Math.max(0, dependencies.now() - dueMs) };
  if (!hasTime()) return isOpen(entry) ? late : {};
  const isArchived = await archiveDay(dependencies, ref, entry, { partBytes, mustStop });
  if (!isArchived) return late;
  onActive?.(ref);
  return isOpen(entry) ? { archived: 1 } : {};
}

async function expire(
  dependencies: ArchiveDependencies,
  ref: PartitionRef,
  entry: ManifestDay,
  { hasTime, onExpired, onActive }: ArchiveTask,
): Promise<Partial<ArchiveCount>> {
  if (!hasTime()) return {};
  const count = await expireDay(dependencies, ref, entry, hasTime);
  onActive?.(ref);
  onExpired?.(ref, entry.day, count);
  return { expired: count.isDone ? 1 : 0, expiredObjects: count.objects };
}

interface DayOfPartition {
  readonly ref: PartitionRef;
  readonly entry: ManifestDay;
}

/**
 * Works on those days that have ended and satisfy `isToDo`, several at the same time, with tenants taking
 * turns.
 */
async function eachDay(
  { manifest, now }: ArchiveDependencies,
  partitions: readonly PartitionRef[],
  { beforeMs, fromDay, archiveAfterMs, onActive, onFailure }: ArchiveTask,
  isToDo: (ref: PartitionRef, entry: ManifestDay) => boolean,
  work: (ref: PartitionRef, entry: ManifestDay) => Promise<Partial<ArchiveCount>>,
): Promise<ArchiveCount> {
  const found = await mapLimited(partitions, LOOKS, async (ref): Promise<DayOfPartition[]> => {
    const from = fromDay(ref);
    const recent = await manifest.days(ref, from ?? FIRST_DAY, LAST_DAY);
    if (recent.some(({ archived }) => archived !== undefined && now() - archived.atMs < ACTIVE_MS))
      onActive?.(ref);
    const isBehind = recent.some((entry) => isLongOverdue(entry, now(), archiveAfterMs));
    const days = from !== undefined && isBehind ? await manifest.days(ref, FIRST_DAY, LAST_DAY) : recent;
    return days
      .filter((entry) => dayStartMs(entry.day) + DAY_MS <= beforeMs && isToDo(ref, entry))
      .map((entry) => ({ ref, entry }));
  });
  const byTenant = Map.groupBy(found.flat(), ({ ref }) => ref.tenantId);
  let count = NOTHING;
  await new FairQueue(byTenant.values()).drain(LANES, async ({ ref, entry }) => {
    try {
      // Await before adding: in one expression, `count` would be read before other lanes add to it.
      const result = await work(ref, entry);
      count = add(count, result);
    } catch (error) {
      onFailure(ref, entry.day, error as Error);
      count = add(count, { failed: 1 });
    }
  });
  return count;
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
