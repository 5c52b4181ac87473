import { type SeriesTally, type TopEntry, tallySeries } from '../catalogue/series-tally';
import { sizeOf } from '../cold/manifest';
import type { Id } from '../model/id';
import { maxPartitions, type PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import type { ReadDependencies } from '../query/read-plan';
import type { Hosts } from '../registry/hosts';
import type { Counter } from '../tenancy/counters';
import type { OperatorDependencies } from './operator-dependencies';
import type { OperatorCommand } from './operator-event';
import { requireTenant } from './tenant-commands';
import type { TierBytes } from './usage-cost';

/** Maximum number of hosts looked up in parallel. */
const PARALLEL = 8;

export interface MonthUsage {
  /** Counts by UTC day. */
  readonly days: Readonly<Record<string, Readonly<Record<Counter, number>>>>;
  /** In `topSources`, hosts are shown with their names in addition to their ids. */
  readonly series: SeriesTally;
  /** The tenant's first day with samples, in any month; null if there are no samples. */
  readonly firstDay: string | null;
  /** Number of nodes that hold a copy of each shard's data. */
  readonly memoryCopies: number;
}

/** Bytes of some partitions. `next` is the partition with which to continue; null when all are done. */
export interface BytesSlice {
  readonly bytes: TierBytes;
  readonly next: number | null;
}

/** Returns a tenant's usage in a month. Counts its series exactly, by reading its whole catalogue. */
export async function monthUsage(
  { tenants, usage, hosts, meta, read: { catalogue }, stage, now }: OperatorDependencies,
  { tenant, month }: OperatorCommand<'usage'>,
): Promise<MonthUsage> {
  const { id } = await requireTenant(tenants, tenant);
  const times = { retentionMs: stage.retention, nowMs: now() };
  const series = await tallySeries(meta, catalogue.sources, id, times);
  await usage.putSeries(id, series);
  return {
    days: Object.fromEntries(await usage.days(id, month)),
    series: { ...series, topSources: await nameHosts(hosts, id, series.topSources) },
    firstDay: (await usage.firstDay(id)) ?? null,
    memoryCopies: stage.cacheReplicas + 1,
  };
}

/**
 * Puts a host's name before its id: `host=3yQ8...` becomes `web1 (host=3yQ8...)`. Other sources stay as they
 * are.
 */
function nameHosts(hosts: Hosts, tenantId: Id, sources: readonly TopEntry[]): Promise<TopEntry[]> {
  return mapLimited(sources, PARALLEL, async (source) => {
    const hostId = /^host=(\w+)$/.exec(source.name)?.[1];
    const host = hostId === undefined ? undefined : await hosts.get(tenantId, hostId);
    return host === undefined ? source : { ...source, name: `${host.name} (${source.name})` };
  });
}

export async function usageBytes(
  { tenants, read }: OperatorDependencies,
  { tenant: name, partition: first }: OperatorCommand<'usage bytes'>,
  hasTime: () => boolean,
): Promise<BytesSlice> {
  const tenant = await requireTenant(tenants, name);
  const partitions = maxPartitions(tenant.placement);
  const bytes = { hot: 0, warm: 0, cold: 0 };
  let partition = first;
  for (; partition < partitions && hasTime(); partition++) {
    const measured = await partitionBytes(read, { tenantId: tenant.id, partition });
    for (const tier of ['hot', 'warm', 'cold'] as const) bytes[tier] += measured[tier];
  }
  return { bytes, next: partition < partitions ? partition : null };
}

/** Measures a partition's bytes in every tier. Reads all of its warm items. */
export async function partitionBytes(
  { hot, warm, manifest }: Pick<ReadDependencies, 'hot' | 'warm' | 'manifest'>,
  ref: PartitionRef,
): Promise<TierBytes> {
  const hotBytes = await hot.space.bytes(ref);
  let warmBytes = 0;
  let coldBytes = 0;
  for (const { day, archived } of await manifest.days(ref, '0000-01-01', '9999-12-31')) {
    if (archived !== undefined) coldBytes += sizeOf(archived).bytes;
    warmBytes += await warm.bytes(ref, day);
  }
  return { hot: hotBytes, warm: warmBytes, cold: coldBytes };
}
