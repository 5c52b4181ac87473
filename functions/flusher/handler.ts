import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { flusherDependencies } from '../../shared/compose/flush';
import { keepOpenDays, partitionsInTurn } from '../../shared/flush/keep-open-days';
import { type FlushSum, flushPartitions } from '../../shared/flush/partitions';
import { residencyMs } from '../../shared/flush/residency';
import { sourceOf } from '../../shared/model/labels';
import { allPartitions, partitionsOfLane, partitionsOfSource, rotated } from '../../shared/model/partitions';
import { type PartitionRef, sourceIdOf } from '../../shared/model/placement';
import { parseEvent } from '../../shared/platform/event';
import { log } from '../../shared/platform/log';
import { count, withMetrics } from '../../shared/platform/meters';

const dependencies = flusherDependencies();
const { hot, tenants, recovery, configuredResidencyMs, warmTtlMs } = dependencies;

/** Time kept for the batches in hand when a slice of work ends. */
const MARGIN_MS = 60_000;

const eventSchema = z.object({
  lane: z.number().int().min(0).default(0),
  lanes: z.number().int().min(1).default(1),
  /** Move everything, not only what is due. */
  drain: z.boolean().default(false),
  /** With `drain`: only the partition of this host; all by default. */
  host: z.object({ tenant: z.string(), id: z.string() }).optional(),
  /** With `drain`: only what was first written by then, by the store's clock, ms; by default now. */
  before: z.number().int().optional(),
});

/** Result of a slice of flushing; operator commands repeat a drain until nothing remains. */
export interface FlushResult extends Omit<FlushSum, 'oldestMs' | 'lowestArrivalMs'> {
  readonly before: number;
}

export const handler = withMetrics('flusher', flush);

async function flush(event: unknown, context: Context): Promise<FlushResult> {
  const { lane, lanes, drain, host, before = await hot.now() } = parseEvent(eventSchema, event ?? {});
  const fullness = await hot.fullness();
  const residency = residencyMs(configuredResidencyMs, fullness);
  // Before the partitions: what is appended while they are looked at arrived no earlier.
  const watermarks = await recovery.watermarks();
  const partitions =
    host === undefined
      ? partitionsOfLane(allPartitions(await tenants.list()), lane, lanes)
      : await partitionsOfHost(host);
  const { oldestMs, lowestArrivalMs, ...moved } = await flushPartitions(
    dependencies,
    rotated(partitions, Math.random()),
    drain ? before : before - residency,
    () => context.getRemainingTimeInMillis() > MARGIN_MS,
    ({ partition }, error) => log.error('part of a partition stays due', { partition, error }),
  );
  const flushedMs = Math.min(...watermarks.values(), lowestArrivalMs);
  // After a loss a replay begins here. A drain has no lane of its own.
  if (!drain && flushedMs > 0 && flushedMs < Infinity) await recovery.putFlushed(lane, lanes, flushedMs);
  count('flusher', {
    WindowsFlushed: moved.windows,
    SamplesFlushed: moved.samples,
    ChunkBytesWritten: moved.bytes,
    WindowsFailed: moved.failed,
    HotMemoryPercent: Math.round(fullness * 100),
    ResidencySeconds: Math.round(residency / 1000),
    OldestUnflushedSeconds: oldestMs === Infinity ? 0 : Math.max(0, Math.round((before - oldestMs) / 1000)),
  });
  let kept = 0;
  if (!drain)
    for (const ref of partitionsInTurn(partitions, Date.now()))
      kept += await keepOpenDays(dependencies, ref, warmTtlMs);
  if (kept > 0) log.warn('the archive is behind: warm items were kept from expiring', { items: kept });
  return { ...moved, before };
}

async function partitionsOfHost(host: { tenant: string; id: string }): Promise<PartitionRef[]> {
  const tenant = await tenants.read(host.tenant);
  if (tenant === undefined) throw new Error(`there is no tenant ${host.tenant}`);
  return partitionsOfSource(tenant, sourceIdOf(tenant.id, sourceOf.host(host.id)));
}
