import type { Id } from './id';
import { maxPartitions, type PartitionRef, type Placement, partitionOf } from './placement';

/** A tenant and where its data lives. */
export interface PlacedTenant {
  readonly id: Id;
  readonly placement: Placement;
}

/** Every partition of every tenant. */
export function allPartitions(tenants: readonly PlacedTenant[]): PartitionRef[] {
  return tenants.flatMap(({ id, placement }) =>
    Array.from({ length: maxPartitions(placement) }, (_, partition) => ({ tenantId: id, partition })),
  );
}

/** The partitions that a tenant's source has or had. */
export function partitionsOfSource({ id, placement }: PlacedTenant, sourceId: Id): PartitionRef[] {
  const partitions = new Set(placement.epochs.map((epoch) => partitionOf(sourceId, epoch.partitions)));
  return [...partitions].map((partition) => ({ tenantId: id, partition }));
}

/** The lane that a partition belongs to, whatever others there are. A tenant's partitions take turns. */
export function laneOf({ tenantId, partition }: PartitionRef, lanes: number): number {
  return (Buffer.from(tenantId.slice(0, 8), 'base64url').readUInt32BE(0) + partition) % lanes;
}

/**
 * Starts the same partitions at another one, so that a slow partition does not starve the same others every time.
 *
 * @param at where to start, as a fraction in [0, 1)
 */
export function rotated(partitions: readonly PartitionRef[], at: number): PartitionRef[] {
  const first = Math.floor(at * partitions.length);
  return [...partitions.slice(first), ...partitions.slice(0, first)];
}
