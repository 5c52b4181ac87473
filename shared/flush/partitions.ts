import type { PartitionSurvey } from '../hot/partition-marks';
import { sourceOf } from '../model/labels';
import { partitionsOfSource } from '../model/partitions';
import { dayOf, type PartitionRef, sourceIdOf } from '../model/placement';
import { limiter, mapLimited } from '../platform/concurrency';
import type { LossWatch } from '../recovery/loss-watch';
import type { Tenants } from '../tenancy/tenants';
import type { UsageTable } from '../tenancy/usage-table';
import { type FlushCount, type FlushDependencies, flushPartition, WINDOWS_AT_ONCE } from './execute';

export interface PartitionsDependencies extends FlushDependencies {
  readonly losses: LossWatch;
  readonly usage: UsageTable;
  readonly now: () => number;
}

/** The result of flushing one or more partitions, and facts about the group-windows left in memory afterwards. */
export interface FlushSum extends Omit<FlushCount, 'failures'> {
  /** Number of group-windows that could not be moved. A partition that failed as a whole counts as one. */
  readonly failed: number;
  /**
   * Number of group-windows left in memory that would be due even with the longest delay. A partition that failed, or
   * for which no time was left, counts as one.
   */
  readonly remaining: number;
  /**
   * Time of the first write to the oldest group-window left in memory, in ms by the Redis server's clock; Infinity if
   * no group-window is left.
   */
  readonly oldestMs: number;
  /**
   * The earliest time at which a frame that is still in memory arrived in the stream, in ms; Infinity if memory has no
   * frames, 0 if the time is unknown.
   */
  readonly lowestArrivalMs: number;
}

/** The result of flushing a partition that has nothing in memory. */
const EMPTY: FlushSum = {
  windows: 0,
  samples: 0,
  bytes: 0,
  expired: 0,
  failed: 0,
  remaining: 0,
  oldestMs: Infinity,
  lowestArrivalMs: Infinity,
};

/** The result for a partition that was not flushed. Nothing is known about the partition. */
const NOT_FLUSHED: FlushSum = { ...EMPTY, remaining: 1, lowestArrivalMs: 0 };

/** Returns the result for a partition in which a survey found nothing due. */
export function waitingPartition({
  oldestMs = Infinity,
  lowestArrivalMs = Infinity,
}: Pick<PartitionSurvey, 'oldestMs' | 'lowestArrivalMs'>): FlushSum {
  return { ...EMPTY, oldestMs, lowestArrivalMs };
}

export function sumFlushes(flushes: readonly FlushSum[]): FlushSum {
  const total = (of: (flush: FlushSum) => number) => flushes.reduce((sum, flush) => sum + of(flush), 0);
  const lowest = (of: (flush: FlushSum) => number) =>
    flushes.reduce((least, flush) => Math.min(least, of(flush)), Infinity);
  return {
    windows: total(({ windows }) => windows),
    samples: total(({ samples }) => samples),
    bytes: total(({ bytes }) => bytes),
    expired: total(({ expired }) => expired),
    failed: total(({ failed }) => failed),
    remaining: total(({ remaining }) => remaining),
    oldestMs: lowest(({ oldestMs }) => oldestMs),
    lowestArrivalMs: lowest(({ lowestArrivalMs }) => lowestArrivalMs),
  };
}

/**
 * Maximum number of partitions flushed at the same time. Most partitions have few due group-windows, so a flush mostly
 * waits for responses. Memory is limited by {@link WINDOWS_AT_ONCE}, which all partitions share.
 */
const PARTITIONS_AT_ONCE = 8;

/** The parameters of a flush. */
export interface FlushRun {
  /**
   * A group-window without a delay is due if its first write was at or before this time, in ms by the Redis server's
   * clock.
   */
  readonly dueBeforeMs: number;
  /** Maximum delay of a group-window, in ms (hot/due-score.ts); 0 moves group-windows without delay. */
  readonly flushDelayMs: number;
  /** Called before each partition, and before each lease of its windows. If it returns false, the flush ends. */
  readonly hasTime: () => boolean;
  /** Called for each partition or group-window that could not be moved. */
  readonly onFailure: (ref: PartitionRef, error: Error) => void;
}

/**
 * Flushes partitions. Resolves wrong marks first, and adds the bytes written to the tenants' usage. If a partition
 * fails, the other partitions are still flushed.
 *
 * @returns a sum for each partition, in order
 */
export async function flushPartitions(
  dependencies: PartitionsDependencies,
  partitions: readonly PartitionRef[],
  { dueBeforeMs, flushDelayMs, hasTime, onFailure }: FlushRun,
): Promise<FlushSum[]> {
  const { hot, losses, usage, now } = dependencies;
  const limit = limiter(WINDOWS_AT_ONCE);
  return mapLimited(partitions, PARTITIONS_AT_ONCE, async (ref): Promise<FlushSum> => {
    if (!hasTime()) return NOT_FLUSHED;
    try {
      await losses.resolve(ref);
      const moved = await flushPartition(dependencies, ref, dueBeforeMs, hasTime, { limit, flushDelayMs });
      // If frames have expired, the partition's mark is no longer good. Resolve the mark now: otherwise the lane's lowest
      // arrival time would stay unknown until the next run.
      if (moved.expired > 0) await losses.resolve(ref);
      for (const error of moved.failures) onFailure(ref, error);
      await usage.add(ref.tenantId, dayOf(now()), {
        warmBytesWritten: moved.bytes,
        warmItemsWritten: moved.windows,
      });
      const due = await hot.mover.due(ref, dueBeforeMs - flushDelayMs);
      const mark = await hot.marks.read(ref);
      return {
        ...moved,
        failed: moved.failures.length,
        remaining: due.count,
        oldestMs: due.oldestMs ?? Infinity,
        // If the mark is not good, memory was wiped after `resolve`. It is empty now, but its samples were never
        // flushed.
        lowestArrivalMs: mark.state === 'good' ? (mark.lowestArrivalMs ?? Infinity) : 0,
      };
    } catch (error) {
      onFailure(ref, error as Error);
      return { ...NOT_FLUSHED, failed: 1 };
    }
  });
}

/** Flushes the partitions that hold a host's samples. Used by an operator command. */
export async function flushHost(
  dependencies: PartitionsDependencies & { readonly tenants: Pick<Tenants, 'read'> },
  { tenant: name, id }: { readonly tenant: string; readonly id: string },
  run: FlushRun,
): Promise<FlushSum> {
  const tenant = await dependencies.tenants.read(name);
  if (tenant === undefined) throw new Error(`there is no tenant ${name}`);
  const partitions = partitionsOfSource(tenant, sourceIdOf(tenant.id, sourceOf.host(id)));
  return sumFlushes(await flushPartitions(dependencies, partitions, run));
}
