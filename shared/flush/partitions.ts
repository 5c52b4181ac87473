import { sourceOf } from '../model/labels';
import { partitionsOfSource } from '../model/partitions';
import { dayOf, type PartitionRef, sourceIdOf } from '../model/placement';
import { limiter, mapLimited } from '../platform/concurrency';
import type { LossWatch } from '../recovery/loss-watch';
import type { Tenants } from '../tenancy/tenants';
import type { UsageTable } from '../tenancy/usage-table';
import { type FlushDependencies, flushPartition, WINDOWS_AT_ONCE } from './execute';

export interface PartitionsDependencies extends FlushDependencies {
  readonly losses: LossWatch;
  readonly usage: UsageTable;
  readonly now: () => number;
}

/** Result of flushing one or more partitions, and their state after it. */
export interface FlushSum {
  /** Group-windows moved. */
  readonly windows: number;
  readonly samples: number;
  /** Chunk bytes written. */
  readonly bytes: number;
  /**
   * Group-windows whose frames had expired before they could be moved. This is a loss, which a replay repairs
   * if the stream still has the records.
   */
  readonly expired: number;
  /** Group-windows, or whole partitions, that could not be moved this time. */
  readonly failed: number;
  /** Group-windows that are due even with the longest delay; a partition that failed counts as one. */
  readonly remaining: number;
  /** When the oldest group-window in memory was first written, by the store's clock, ms; Infinity when none is left. */
  readonly oldestMs: number;
  /**
   * Lowest stream arrival time of the frames in memory, ms; Infinity when memory is empty, 0 when unknown.
   */
  readonly lowestArrivalMs: number;
}

const NOT_LOOKED_AT: FlushSum = {
  windows: 0,
  samples: 0,
  bytes: 0,
  expired: 0,
  failed: 0,
  remaining: 1,
  oldestMs: Infinity,
  lowestArrivalMs: 0,
};

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
 * Partitions flushed in parallel. Most have few group-windows due, and take only the time of some round
 * trips. This bound is for time; {@link WINDOWS_AT_ONCE}, which the partitions share, is the bound for
 * memory.
 */
const PARTITIONS_AT_ONCE = 8;

export interface FlushTask {
  /** See {@link FrameMover.lease}. */
  readonly dueBeforeMs: number;
  /** See {@link FrameMover.lease}; 0 when windows should not wait for their delays. */
  readonly spreadMs: number;
  /** Asked before each partition, and before each batch of a partition. */
  readonly hasTime: () => boolean;
  /** Called for each partition, and for each group-window, that could not be moved. */
  readonly onFailure: (ref: PartitionRef, error: Error) => void;
}

/**
 * Flushes partitions. A partition that fails does not stop the others.
 *
 * @returns a sum for each partition
 */
export async function flushPartitions(
  dependencies: PartitionsDependencies,
  partitions: readonly PartitionRef[],
  { dueBeforeMs, spreadMs, hasTime, onFailure }: FlushTask,
): Promise<FlushSum[]> {
  const { hot, losses, usage, now } = dependencies;
  const limit = limiter(WINDOWS_AT_ONCE);
  return mapLimited(partitions, PARTITIONS_AT_ONCE, async (ref): Promise<FlushSum> => {
    if (!hasTime()) return NOT_LOOKED_AT;
    try {
      await losses.resolve(ref);
      const moved = await flushPartition(dependencies, ref, dueBeforeMs, hasTime, limit, spreadMs);
      // The expired frames have made the partition's mark invalid. Resolve it now: otherwise the lane's
      // watermark waits until the next round does.
      if (moved.expired > 0) await losses.resolve(ref);
      for (const error of moved.failures) onFailure(ref, error);
      await usage.add(ref.tenantId, dayOf(now()), {
        warmBytesWritten: moved.bytes,
        warmItemsWritten: moved.windows,
      });
      const left = await hot.mover.due(ref, dueBeforeMs - spreadMs);
      const { isWhole, lowestArrivalMs = Infinity } = await hot.marks.inspect(ref);
      return {
        ...moved,
        failed: moved.failures.length,
        remaining: left.count,
        oldestMs: left.oldestMs ?? Infinity,
        // If memory was wiped since `resolve`, it is empty although its samples were not flushed.
        lowestArrivalMs: isWhole ? lowestArrivalMs : 0,
      };
    } catch (error) {
      onFailure(ref, error as Error);
      return { ...NOT_LOOKED_AT, failed: 1 };
    }
  });
}

/** Flushes the partition of a host. */
export async function flushHost(
  dependencies: PartitionsDependencies & { readonly tenants: Pick<Tenants, 'read'> },
  { tenant: name, id }: { readonly tenant: string; readonly id: string },
  task: FlushTask,
): Promise<FlushSum> {
  const tenant = await dependencies.tenants.read(name);
  if (tenant === undefined) throw new Error(`there is no tenant ${name}`);
  const partitions = partitionsOfSource(tenant, sourceIdOf(tenant.id, sourceOf.host(id)));
  return sumFlushes(await flushPartitions(dependencies, partitions, task));
}
