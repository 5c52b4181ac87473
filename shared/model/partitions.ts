import type { Id } from './id';
import { maxPartitions, type PartitionRef, type Placement, partitionOf } from './placement';

/** Whose series are placed, and how. */
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

/** The partitions that a source of a tenant has, or has had. */
export function partitionsOfSource({ id, placement }: PlacedTenant, sourceId: Id): PartitionRef[] {
  const partitions = new Set(placement.epochs.map((epoch) => partitionOf(sourceId, epoch.partitions)));
  return [...partitions].map((partition) => ({ tenantId: id, partition }));
}

/** The partitions that one of several lanes works on; each belongs to one lane. */
export function partitionsOfLane(
  partitions: readonly PartitionRef[],
  lane: number,
  lanes: number,
): PartitionRef[] {
  return partitions.filter((_, i) => i % lanes === lane);
}

/**
 * The same partitions from another place on, so that one that takes all the time does not always keep it from the same
 * others.
 *
 * @param at from 0 to below 1
 */
export function rotated(partitions: readonly PartitionRef[], at: number): PartitionRef[] {
  const first = Math.floor(at * partitions.length);
  return [...partitions.slice(first), ...partitions.slice(0, first)];
}
