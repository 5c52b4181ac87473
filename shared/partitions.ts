import type { Tenant } from './meta/tenants';
import { maxPartitions, type PartitionRef } from './placement';

/** Every partition of every tenant. */
export function allPartitions(tenants: readonly Tenant[]): PartitionRef[] {
  return tenants.flatMap(({ id, placement }) =>
    Array.from({ length: maxPartitions(placement) }, (_, partition) => ({ tenantId: id, partition })),
  );
}

/** The partitions that one of several lanes works on; each belongs to one lane. */
export function partitionsOfLane(
  partitions: readonly PartitionRef[],
  lane: number,
  lanes: number,
): PartitionRef[] {
  return partitions.filter((_, i) => i % lanes === lane);
}
