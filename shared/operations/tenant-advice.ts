import { advisePartitions, type PartitionAdvice } from '../cost/partition-advice';
import { DAY_MS } from '../model/duration';
import { dayOf } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import type { Counter } from '../tenancy/counters';
import type { OperatorDependencies } from './operator-dependencies';

export interface AdvisedTenant extends PartitionAdvice {
  readonly name: string;
  /** Number of partitions in the newest epoch, which may start in the future. */
  readonly partitions: number;
}

export interface TenantAdvice {
  readonly tenants: readonly AdvisedTenant[];
  /** Samples per minute of all tenants together, averaged over the busiest day. */
  readonly samplesPerMinute: number;
}

/** Number of days from which the busiest day is taken. */
const DAYS = 7;
const PARALLEL = 32;
const MINUTES_OF_DAY = 1440;

/** Advises on each tenant's number of partitions, based on its usage in the last week. */
export async function adviseTenants({
  tenants,
  usage,
  now,
}: Pick<OperatorDependencies, 'tenants' | 'usage' | 'now'>): Promise<TenantAdvice> {
  const first = dayOf(now() - DAYS * DAY_MS);
  const months = [...new Set([first.slice(0, 7), dayOf(now()).slice(0, 7)])];
  const samples = new Map<string, number>();
  const advised = await mapLimited(await tenants.list(), PARALLEL, async ({ id, name, placement }) => {
    const found = await Promise.all(months.map((month) => usage.days(id, month)));
    const days = found.flatMap((month) => [...month]).filter(([day]) => day >= first);
    for (const [day, counts] of days) samples.set(day, (samples.get(day) ?? 0) + counts.samples);
    const most = (counter: Counter) => Math.max(...days.map(([, counts]) => counts[counter]));
    const busiest =
      days.length === 0
        ? undefined
        : { streamBytes: most('streamBytes'), warmBytesWritten: most('warmBytesWritten') };
    const { partitions } = placement.epochs.at(-1)!;
    return { name, partitions, ...advisePartitions(partitions, busiest) };
  });
  return {
    tenants: advised,
    samplesPerMinute: Math.round(Math.max(0, ...samples.values()) / MINUTES_OF_DAY),
  };
}
