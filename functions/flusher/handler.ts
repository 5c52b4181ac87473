import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { flusherDependencies } from '../../shared/compose/flush';
import { keepOpenDaysInTurn } from '../../shared/flush/keep-open-days';
import { flushLanes } from '../../shared/flush/lane';
import { type FlushSum, flushHost } from '../../shared/flush/partitions';
import { isPressed, PRESSED_MS, residencyOf } from '../../shared/flush/residency';
import type { PartitionRef } from '../../shared/model/placement';
import { parseEvent } from '../../shared/platform/event';
import { log } from '../../shared/platform/log';
import { count, withMetrics } from '../../shared/platform/meters';
import { holdReads } from '../../shared/recovery/read-hold';

const dependencies = flusherDependencies();
const { hot, recovery, stage, warmTtlMs } = dependencies;
const laneOf = flushLanes(dependencies);

/** Remaining time of the invocation that is reserved for completing batches in progress, ms. */
const MARGIN_MS = 60_000;

const eventSchema = z.object({
  lane: z.number().int().min(0).default(0),
  lanes: z.number().int().min(1).default(1),
  /** Move everything, not only what is due. */
  drain: z.boolean().default(false),
  /** With `drain`: move only the partition of this host. Default: all partitions. */
  host: z.object({ tenant: z.string(), id: z.string() }).optional(),
  /**
   * With `drain`: move only what was first written at this time or earlier, ms by the store's clock. Default:
   * now.
   */
  before: z.number().int().optional(),
});

/** Result of a slice of flushing. Operator commands repeat a drain until nothing remains. */
export interface FlushResult extends Omit<FlushSum, 'oldestMs' | 'lowestArrivalMs'> {
  readonly before: number;
}

export const handler = withMetrics('flusher', flush);

async function flush(event: unknown, context: Context): Promise<FlushResult> {
  const { lane, lanes, drain, host, before: asked } = parseEvent(eventSchema, event ?? {});
  const own = laneOf(lane, lanes);
  const nowMs = await hot.nodes.now();
  const before = asked ?? nowMs;
  const load = await hot.nodes.load();
  // Not awaited here: the flush must not wait for the hint.
  const hint = isPressed(load) ? holdReads(recovery, Date.now() + PRESSED_MS) : undefined;
  // While slots move, flush everything at once, so that there is little to move.
  const isScaling = (await recovery.scalingUntilMs()) > Date.now();
  const { leastMs, spreadMs } = residencyOf(stage, isScaling ? 1 : load.memory);
  const round = {
    dueBeforeMs: drain ? before : before - leastMs,
    spreadMs: drain ? 0 : spreadMs,
    startAt: Math.random(),
    hasTime: () => context.getRemainingTimeInMillis() > MARGIN_MS,
    onFailure: ({ partition }: PartitionRef, error: Error) =>
      log.error('part of a partition stays due', { partition, error }),
  };
  // Read the watermarks before the partitions: what is appended in between arrived at these times or later.
  const watermarks = await recovery.watermarks();
  const watermarkMs = watermarks.size === 0 ? 0 : Math.min(...watermarks.values());
  const { oldestMs, lowestArrivalMs, ...moved } =
    host === undefined
      ? await own.round({ ...round, nowMs, watermarkMs, isAll: drain })
      : await flushHost(dependencies, host, round);
  // After a loss, a replay begins here. Not written by a drain, which has no lane of its own.
  if (!drain && lowestArrivalMs > 0) await recovery.putFlushed(lane, lanes, lowestArrivalMs);
  count('flusher', {
    WindowsFlushed: moved.windows,
    SamplesFlushed: moved.samples,
    ChunkBytesWritten: moved.bytes,
    WindowsExpired: moved.expired,
    WindowsFailed: moved.failed,
    HotMemoryPercent: Math.round(load.memory * 100),
    ResidencySeconds: Math.round((leastMs + spreadMs) / 1000),
    OldestUnflushedSeconds: oldestMs === Infinity ? 0 : Math.max(0, Math.round((before - oldestMs) / 1000)),
  });
  if (moved.expired > 0)
    log.error('samples expired in memory before a flusher moved them; recovery reads the stream again', {
      windows: moved.expired,
    });
  const kept = drain ? 0 : await keepOpenDaysInTurn(dependencies, own.partitions(), warmTtlMs);
  if (kept > 0) log.warn('the archive is behind: warm items were kept from expiring', { items: kept });
  await hint;
  return { ...moved, before };
}
