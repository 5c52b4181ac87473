import { dayOf, type PartitionRef } from '../model/placement';
import { limiter, mapLimited } from '../platform/concurrency';
import type { LossWatch } from '../recovery/loss-watch';
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
  /** Group-windows, or whole partitions, that could not be moved now. */
  readonly failed: number;
  /** Group-windows that are still due; a partition that failed counts as one. */
  readonly remaining: number;
  /** When the oldest group-window in memory was first written, by the store's clock, ms; Infinity when none is left. */
  readonly oldestMs: number;
  /** Lowest stream arrival time of what is in memory, ms; Infinity when nothing is, 0 when it is unknown. */
  readonly lowestArrivalMs: number;
}

const FAILED: FlushSum = {
  windows: 0,
  samples: 0,
  bytes: 0,
  failed: 1,
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
    failed: total(({ failed }) => failed),
    remaining: total(({ remaining }) => remaining),
    oldestMs: lowest(({ oldestMs }) => oldestMs),
    lowestArrivalMs: lowest(({ lowestArrivalMs }) => lowestArrivalMs),
  };
}

/**
 * Partitions flushed side by side. Most have nothing due and cost four round trips, so the bound is for time; memory is
 * bounded by {@link WINDOWS_AT_ONCE}, which they share.
 */
const PARTITIONS_AT_ONCE = 8;

/**
 * Flushes partitions. One that fails does not keep the others from moving.
 *
 * @param dueBeforeMs see {@link HotTier.lease}
 * @param hasTime asked before each batch of a partition
 * @param onFailure told of each partition, and of each group-window, that could not be moved
 */
export async function flushPartitions(
  dependencies: PartitionsDependencies,
  partitions: readonly PartitionRef[],
  dueBeforeMs: number,
  hasTime: () => boolean,
  onFailure: (ref: PartitionRef, error: Error) => void,
): Promise<FlushSum> {
  const { hot, losses, usage, now } = dependencies;
  const limit = limiter(WINDOWS_AT_ONCE);
  const flushes = await mapLimited(partitions, PARTITIONS_AT_ONCE, async (ref): Promise<FlushSum> => {
    try {
      await losses.resolve(ref);
      const moved = await flushPartition(dependencies, ref, dueBeforeMs, hasTime, limit);
      for (const error of moved.failures) onFailure(ref, error);
      await usage.add(ref.tenantId, dayOf(now()), {
        warmBytesWritten: moved.bytes,
        warmItemsWritten: moved.windows,
      });
      const left = await hot.due(ref, dueBeforeMs);
      const { isWhole, lowestArrivalMs = Infinity } = await hot.inspect(ref);
      return {
        ...moved,
        failed: moved.failures.length,
        remaining: left.count,
        oldestMs: left.oldestMs ?? Infinity,
        // Memory wiped since `resolve` is empty, but its samples were not flushed.
        lowestArrivalMs: isWhole ? lowestArrivalMs : 0,
      };
    } catch (error) {
      onFailure(ref, error as Error);
      return FAILED;
    }
  });
  return sumFlushes(flushes);
}
