import { isOpen, type ManifestDay } from '../cold/manifest';
import { DAY_MS } from '../model/duration';
import { type Day, dayStartMs, type PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { type ArchiveDependencies, archiveDay } from './execute';
import { FairQueue } from './fair-queue';
import { isLongOverdue } from './look';
import { purgeDay } from './purge';
import { type ExpiredCount, expireDay, isExpired } from './retention';

/** The result of a slice of archiving; operator commands repeat it until nothing remains. */
export interface ArchiveCount {
  /** Partition-days archived. */
  readonly archived: number;
  /** Warm items removed. */
  readonly purged: number;
  /** Partition-days that are still open. */
  readonly remaining: number;
  /** Partition-days whose warm items are too young in the manifest to be purged, or not archived yet. */
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
  /** Only days that end by then, ms since epoch. */
  readonly beforeMs: number;
  /** The first day of a partition that is looked at; undefined: all are. All are too where the archiver is behind. */
  readonly fromDay: (ref: PartitionRef) => Day | undefined;
  /** How long a partition's samples can be read: days are removed after it. */
  readonly retentionMs: (ref: PartitionRef) => number;
  /** How long after its end a day is to be archived. */
  readonly archiveAfterMs: number;
  /** Bytes of an object: {@link ArchiveLimits}. */
  readonly partBytes: number;
  /** Purges too, what has been in the manifest for so long; undefined: purges nothing. */
  readonly purgeAgeMs: number | undefined;
  /** Asked before each partition-day. */
  readonly hasTime: () => boolean;
  /** Asked within a partition-day: whether it must be left to the next invocation, which goes on with it. */
  readonly mustStop: () => boolean;
  /** Told of partitions whose rollups may lack a day: one was archived or removed now, or archived within {@link ACTIVE_MS}. */
  readonly onActive?: (ref: PartitionRef) => void;
  /** Told of every day that was removed after the retention. */
  readonly onExpired?: (ref: PartitionRef, day: Day, count: ExpiredCount) => void;
  /** Told of every failure; the other days go on. */
  readonly onFailure: (ref: PartitionRef, day: Day, error: Error) => void;
}

/** Partition-days worked on side by side, each in some 200 MB of memory at most. */
const LANES = 4;
/** Partitions whose manifest is read side by side. */
const LOOKS = 16;
/** Slices of so long take up a day's rollups again; later it is the turn of the whole partition, once a day. */
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
 * Archives what is open of partitions, then, if asked to, purges. One partition-day's failure is no other's, and no tenant's
 * work waits for all of another's.
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
  // After all is archived: a purge is less urgent.
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

/** Works on the days that have ended and are `isToDo`, several side by side, the tenants in turn. */
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
      // Not in one expression: the count may change while the work goes on.
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
