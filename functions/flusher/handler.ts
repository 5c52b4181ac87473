import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { Catalogue } from '../../shared/catalogue/catalogue';
import { Manifest } from '../../shared/cold/manifest';
import { hotTier } from '../../shared/compose/hot-tier';
import { metaTable, warmTable } from '../../shared/compose/tables';
import { flushPartition } from '../../shared/flush/flush';
import { residencyMs } from '../../shared/flush/residency';
import { sourceOf } from '../../shared/model/labels';
import { allPartitions, partitionsOfLane, partitionsOfSource, rotated } from '../../shared/model/partitions';
import { dayOf, type PartitionRef, sourceIdOf } from '../../shared/model/placement';
import { settings } from '../../shared/platform/environment';
import { parseEvent } from '../../shared/platform/event';
import { log } from '../../shared/platform/log';
import { count, withMetrics } from '../../shared/platform/meters';
import { LossWatch } from '../../shared/recovery/loss-watch';
import { RecoveryTable } from '../../shared/recovery/recovery-table';
import { Tenants } from '../../shared/tenancy/tenants';
import { UsageTable } from '../../shared/tenancy/usage-table';
import { WarmTier } from '../../shared/warm/warm-tier';

const { window: windowMs, flushDelay, retention, warmTtl, flusherLanes } = settings();
const table = metaTable();
const tenants = new Tenants(table);
const recovery = new RecoveryTable(table);
const hot = hotTier();
const losses = new LossWatch({ hot, table: recovery, tenants, lanes: flusherLanes, now: Date.now });
const usage = new UsageTable(table);
const dependencies = {
  hot,
  warm: new WarmTier(warmTable(), warmTtl),
  catalogue: new Catalogue(table, retention),
  manifest: new Manifest(table),
  windowMs,
};

/** Time kept for the batch in hand when a slice of work ends. */
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

/** What a slice of flushing did; operator commands repeat a drain until nothing remains. */
export interface FlushResult {
  readonly windows: number;
  readonly samples: number;
  readonly bytes: number;
  /** Group-windows still to be moved by this call. */
  readonly remaining: number;
  readonly failed: number;
  readonly before: number;
}

export const handler = withMetrics('flusher', flush);

async function flush(event: unknown, context: Context): Promise<FlushResult> {
  const { lane, lanes, drain, host, before = await hot.now() } = parseEvent(eventSchema, event ?? {});
  const fullness = await hot.fullness();
  const residency = residencyMs(windowMs + flushDelay, fullness);
  const dueBefore = drain ? before : before - residency;
  // Before the partitions: what is appended while they are looked at arrived no earlier.
  const watermarks = await recovery.watermarks();
  const hasTime = () => context.getRemainingTimeInMillis() > MARGIN_MS;
  const partitions =
    host === undefined
      ? partitionsOfLane(allPartitions(await tenants.list()), lane, lanes)
      : await partitionsOfHost(host);
  let windows = 0;
  let samples = 0;
  let bytes = 0;
  let failed = 0;
  let remaining = 0;
  let oldestMs = Infinity;
  let flushedMs = Math.min(...watermarks.values());
  for (const ref of rotated(partitions, Math.random())) {
    try {
      await losses.resolve(ref);
      const moved = await flushPartition(dependencies, ref, dueBefore, hasTime);
      windows += moved.windows;
      samples += moved.samples;
      bytes += moved.bytes;
      await usage.add(ref.tenantId, dayOf(Date.now()), {
        warmBytesWritten: moved.bytes,
        warmItemsWritten: moved.windows,
      });
      failed += moved.failures.length;
      for (const error of moved.failures) log.error('a group-window stays due', { error });
      const left = await hot.due(ref, dueBefore);
      flushedMs = Math.min(flushedMs, (await hot.inspect(ref)).lowestArrivalMs ?? Infinity);
      remaining += left.count;
      oldestMs = Math.min(oldestMs, left.oldestMs ?? Infinity);
    } catch (error) {
      // The other partitions may be well.
      failed++;
      remaining++;
      flushedMs = 0;
      log.error('a partition was not flushed', { partition: ref.partition, error: error as Error });
    }
  }
  // After a loss a replay begins here. A drain has no lane of its own.
  if (!drain && flushedMs > 0 && flushedMs < Infinity) await recovery.putFlushed(lane, lanes, flushedMs);
  count('flusher', {
    WindowsFlushed: windows,
    SamplesFlushed: samples,
    ChunkBytesWritten: bytes,
    WindowsFailed: failed,
    HotMemoryPercent: Math.round(fullness * 100),
    ResidencySeconds: Math.round(residency / 1000),
    OldestUnflushedSeconds: oldestMs === Infinity ? 0 : Math.max(0, Math.round((before - oldestMs) / 1000)),
  });
  return { windows, samples, bytes, remaining, failed, before };
}

async function partitionsOfHost({
  tenant: name,
  id,
}: {
  tenant: string;
  id: string;
}): Promise<PartitionRef[]> {
  const tenant = await tenants.read(name);
  if (tenant === undefined) throw new Error(`there is no tenant ${name}`);
  return partitionsOfSource(tenant, sourceIdOf(tenant.id, sourceOf.host(id)));
}
