import type { Id } from './id';
import { maxPartitions, type PartitionRef, type Placement, partitionOf } from './placement';

/** A tenant with its placement. */
export interface PlacedTenant {
  readonly id: Id;
  readonly placement: Placement;
}

/** Lists every partition of every tenant. */
export function allPartitions(tenants: readonly PlacedTenant[]): PartitionRef[] {
  return tenants.flatMap(({ id, placement }) =>
    Array.from({ length: maxPartitions(placement) }, (_, partition) => ({ tenantId: id, partition })),
  );
}

/** Lists the partitions that hold or held a tenant's source. */
export function partitionsOfSource({ id, placement }: PlacedTenant, sourceId: Id): PartitionRef[] {
  const partitions = new Set(placement.epochs.map((epoch) => partitionOf(sourceId, epoch.partitions)));
  return [...partitions].map((partition) => ({ tenantId: id, partition }));
}

/**
 * Returns a partition's flusher lane. It does not depend on other partitions. A tenant's partitions are in
 * different lanes.
 */
export function laneOf({ tenantId, partition }: PartitionRef, lanes: number): number {
  return (Buffer.from(tenantId.slice(0, 8), 'base64url').readUInt32BE(0) + partition) % lanes;
}

/**
 * Rotates a list of partitions, so that slow partitions do not always delay the same others.
 *
 * @param at where to start, as a fraction in [0, 1)
 */
export function rotated(partitions: readonly PartitionRef[], at: number): PartitionRef[] {
  const first = Math.floor(at * partitions.length);
  return [...partitions.slice(first), ...partitions.slice(0, first)];
}
