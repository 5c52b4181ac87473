import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { flusherDependencies } from '../../shared/compose/flush';
import { keepOpenDaysInTurn } from '../../shared/flush/keep-open-days';
import { flushLane } from '../../shared/flush/lane';
import { type FlushSum, flushHost } from '../../shared/flush/partitions';
import { residencyOf } from '../../shared/flush/residency';
import type { PartitionRef } from '../../shared/model/placement';
import { parseEvent } from '../../shared/platform/event';
import { count, withMetrics } from '../../shared/platform/function-metrics';
import { log } from '../../shared/platform/log';

const dependencies = flusherDependencies();
const { hot, recovery, stage, warmTtlMs } = dependencies;

/** Time reserved at the end of an invocation to complete the group-windows in progress, in ms. */
const MARGIN_MS = 60_000;

const eventSchema = z.object({
  /**
   * Index of the lane to flush, from 0. Each of the `lanes` lanes is flushed by its own invocation, in
   * parallel.
   */
  lane: z.number().int().min(0).default(0),
  lanes: z.number().int().min(1).default(1),
  /** Moves all group-windows out of memory, not only those that are due. */
  drain: z.boolean().default(false),
  /** With `drain`: moves only the partitions of this host; by default all partitions. */
  host: z.object({ tenant: z.string(), id: z.string() }).optional(),
  /**
   * With `drain`: moves only group-windows whose first write was at this time or earlier, in ms on the Redis server's
   * clock. The default is now.
   */
  before: z.number().int().optional(),
});

/** The result of one invocation. Operator commands repeat a drain until nothing remains. */
export interface FlushResult extends Omit<FlushSum, 'oldestMs' | 'lowestArrivalMs'> {
  /** The `before` that was used, to pass to the next invocation of the same drain. */
  readonly before: number;
}

/** Moves samples from memory to the warm tier. The schedule invokes it each minute for each lane. */
export const handler = withMetrics('flusher', flush);

async function flush(event: unknown, context: Context): Promise<FlushResult> {
  const { lane, lanes, drain, host, before: requestedBefore } = parseEvent(eventSchema, event ?? {});
  const before = requestedBefore ?? (await hot.nodes.now());
  const fullness = await hot.nodes.fullness();
  // While a command moves hash slots, flush everything immediately, so that there is little left to move.
  const isScaling = (await recovery.scalingUntilMs()) > Date.now();
  const { leastMs, flushDelayMs } = residencyOf(stage, isScaling ? 1 : fullness);
  const run = {
    dueBeforeMs: drain ? before : before - leastMs,
    flushDelayMs: drain ? 0 : flushDelayMs,
    startAt: Math.random(),
    hasTime: () => context.getRemainingTimeInMillis() > MARGIN_MS,
    onFailure: ({ partition }: PartitionRef, error: Error) =>
      log.error('part of a partition stays due', { partition, error }),
  };
  // Read the watermarks before the partitions. If a record is appended in between, its arrival time is then later than
  // these watermarks.
  const watermarks = await recovery.watermarks();
  const watermarkMs = watermarks.size === 0 ? 0 : Math.min(...watermarks.values());
  const { oldestMs, lowestArrivalMs, partitions, ...moved } =
    host === undefined
      ? await flushLane(dependencies, { ...run, lane, lanes, watermarkMs })
      : { ...(await flushHost(dependencies, host, run)), partitions: [] };
  // Write the time from which a replay must begin after a loss of memory. A drain has no lane, so it does not write it.
  if (!drain && lowestArrivalMs > 0) await recovery.putFlushed(lane, lanes, lowestArrivalMs);
  count('flusher', {
    WindowsFlushed: moved.windows,
    SamplesFlushed: moved.samples,
    ChunkBytesWritten: moved.bytes,
    WindowsExpired: moved.expired,
    WindowsFailed: moved.failed,
    HotMemoryPercent: Math.round(fullness * 100),
    ResidencySeconds: Math.round((leastMs + flushDelayMs) / 1000),
    OldestUnflushedSeconds: oldestMs === Infinity ? 0 : Math.max(0, Math.round((before - oldestMs) / 1000)),
  });
  if (moved.expired > 0)
    log.error('samples expired in memory before a flusher moved them; recovery reads the stream again', {
      windows: moved.expired,
    });
  const kept = drain ? 0 : await keepOpenDaysInTurn(dependencies, partitions, warmTtlMs);
  if (kept > 0) log.warn('the archive is behind: warm items were kept from expiring', { items: kept });
  return { ...moved, before };
}
