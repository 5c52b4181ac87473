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

/** The partitions of one lane; each belongs to exactly one. */
export function partitionsOfLane(
  partitions: readonly PartitionRef[],
  lane: number,
  lanes: number,
): PartitionRef[] {
  return partitions.filter((_, i) => i % lanes === lane);
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
