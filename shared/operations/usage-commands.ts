import { type SeriesTally, tallySeries } from '../catalogue/series-tally';
import { maxPartitions } from '../model/placement';
import type { TierBytes } from '../tenancy/cost';
import type { Counter } from '../tenancy/counters';
import type { OperatorDependencies } from './operator-dependencies';
import type { OperatorCommand } from './operator-event';
import { NO_SERIES, requireTenant } from './tenant-commands';
import { partitionBytes } from './tier-bytes';

/** A tenant's counts in a month. */
export interface MonthUsage {
  /** By UTC day. */
  readonly days: Readonly<Record<string, Readonly<Record<Counter, number>>>>;
  readonly series: SeriesTally;
  /** Nodes that each keep a copy of what is in memory. */
  readonly memoryCopies: number;
}

/** Bytes of some partitions; `next` is the partition to go on from, null at the end. */
export interface BytesSlice {
  readonly bytes: TierBytes;
  readonly next: number | null;
}

/** Counts the tenant's series exactly, which reads the whole catalogue of the stage. */
export async function monthUsage(
  { tenants, usage, meta, stage, now }: OperatorDependencies,
  { tenant, month }: OperatorCommand<'usage'>,
): Promise<MonthUsage> {
  const { id } = await requireTenant(tenants, tenant);
  const series = (await tallySeries(meta, stage.retention, now(), id)).get(id) ?? NO_SERIES;
  await usage.putSeries(id, series);
  return {
    days: Object.fromEntries(await usage.days(id, month)),
    series,
    memoryCopies: stage.cacheReplicas + 1,
  };
}

export async function usageBytes(
  { tenants, erasure }: OperatorDependencies,
  { tenant: name, partition: first }: OperatorCommand<'usage bytes'>,
  hasTime: () => boolean,
): Promise<BytesSlice> {
  const tenant = await requireTenant(tenants, name);
  const partitions = maxPartitions(tenant.placement);
  const bytes = { hot: 0, warm: 0, cold: 0 };
  let partition = first;
  for (; partition < partitions && hasTime(); partition++) {
    const measured = await partitionBytes(erasure, { tenantId: tenant.id, partition });
    for (const tier of ['hot', 'warm', 'cold'] as const) bytes[tier] += measured[tier];
  }
  return { bytes, next: partition < partitions ? partition : null };
}
