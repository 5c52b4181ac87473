import { isOpen, type ManifestDay, sizeOf } from '../cold/manifest';
import { DAY_MS } from '../model/duration';
import { type Day, dayStartMs, type PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { type ArchiveDependencies, archiveDay } from './execute';
import { purgeDay } from './purge';

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
  /** Partition-days that failed. */
  readonly failed: number;
  /** How long ago the oldest day that is still open should have been archived; 0 when none is. */
  readonly lagMs: number;
}

export interface ArchiveTask {
  /** Only days that end by then, ms since epoch. */
  readonly beforeMs: number;
  /** How long after its end a day is to be archived. */
  readonly archiveAfterMs: number;
  /** Purges too, what has been in the manifest for so long; undefined: purges nothing. */
  readonly purgeAgeMs: number | undefined;
  /** Asked before each partition-day. */
  readonly hasTime: () => boolean;
  /** Told of every failure; the other days go on. */
  readonly onFailure: (ref: PartitionRef, day: Day, error: Error) => void;
}

/**
 * Partitions worked on side by side. A function holds each one's object in memory twice, encoded and as the request's body:
 * with objects of up to {@link SMALL_OBJECT_BYTES} that is half a GB of the function's 3.
 */
const PARALLEL = 4;
/** A partition with a larger object, or with none yet to tell its size, shares memory with small ones only. */
const SMALL_OBJECT_BYTES = 64 * 1024 * 1024;

const NOTHING: ArchiveCount = { archived: 0, purged: 0, remaining: 0, unpurged: 0, failed: 0, lagMs: 0 };

/** Archives what is open of partitions, then, if asked to, purges. One partition-day's failure is no other's. */
export async function archivePartitions(
  dependencies: ArchiveDependencies,
  partitions: readonly PartitionRef[],
  task: ArchiveTask,
): Promise<ArchiveCount> {
  const count = await eachDay(dependencies, partitions, task, (ref, entry) =>
    archive(dependencies, ref, entry, task),
  );
  const { purgeAgeMs } = task;
  if (purgeAgeMs === undefined) return count;
  // After all is archived: a purge is less urgent.
  const purged = await eachDay(dependencies, partitions, task, async (ref, entry) => {
    if (!task.hasTime()) return { unpurged: 1 };
    const { items, remains } = await purgeDay(dependencies, ref, entry, purgeAgeMs);
    return { purged: items, unpurged: remains ? 1 : 0 };
  });
  return add(count, purged);
}

async function archive(
  dependencies: ArchiveDependencies,
  ref: PartitionRef,
  entry: ManifestDay,
  { hasTime, archiveAfterMs }: ArchiveTask,
): Promise<Partial<ArchiveCount>> {
  if (!isOpen(entry)) return {};
  if (hasTime() && (await archiveDay(dependencies, ref, entry))) return { archived: 1 };
  const dueMs = dayStartMs(entry.day) + DAY_MS + archiveAfterMs;
  return { remaining: 1, lagMs: Math.max(0, dependencies.now() - dueMs) };
}

/** Works on every day that has ended, partitions side by side as far as memory allows. */
async function eachDay(
  { manifest }: ArchiveDependencies,
  partitions: readonly PartitionRef[],
  { beforeMs, onFailure }: ArchiveTask,
  work: (ref: PartitionRef, entry: ManifestDay) => Promise<Partial<ArchiveCount>>,
): Promise<ArchiveCount> {
  const alone = oneAtATime();
  const counts = await mapLimited(partitions, PARALLEL, async (ref) => {
    const days = await manifest.days(ref, '1970-01-01', '9999-12-31');
    const workAll = async () => {
      let count = NOTHING;
      for (const entry of days) {
        if (dayStartMs(entry.day) + DAY_MS > beforeMs) continue;
        try {
          count = add(count, await work(ref, entry));
        } catch (error) {
          onFailure(ref, entry.day, error as Error);
          count = add(count, { failed: 1 });
        }
      }
      return count;
    };
    return isSmall(days) ? workAll() : alone(workAll);
  });
  return counts.reduce(add, NOTHING);
}

/** Whether a partition's days fit into memory beside others', as far as its objects so far tell. */
function isSmall(days: readonly ManifestDay[]): boolean {
  const sizes = days.flatMap(({ archived }) => (archived === undefined ? [] : [sizeOf(archived).bytes]));
  return sizes.length > 0 && Math.max(...sizes) <= SMALL_OBJECT_BYTES;
}

/** Runs what it is given one after another. */
function oneAtATime() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work, work);
    last = next;
    return next;
  };
}

function add(a: ArchiveCount, b: Partial<ArchiveCount>): ArchiveCount {
  return {
    archived: a.archived + (b.archived ?? 0),
    purged: a.purged + (b.purged ?? 0),
    remaining: a.remaining + (b.remaining ?? 0),
    unpurged: a.unpurged + (b.unpurged ?? 0),
    failed: a.failed + (b.failed ?? 0),
    lagMs: Math.max(a.lagMs, b.lagMs ?? 0),
  };
}
