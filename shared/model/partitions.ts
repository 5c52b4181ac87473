import { DAY_MS } from './duration';
import type { Id } from './id';
import { maxPartitions, type PartitionRef, type Placement, partitionOf } from './placement';

/** The properties of a tenant that placement needs. */
export interface PlacedTenant {
  readonly id: Id;
  readonly placement: Placement;
}

/** Lists every partition that a tenant has on any day. */
export function allPartitions(tenants: readonly PlacedTenant[]): PartitionRef[] {
  return tenants.flatMap(({ id, placement }) =>
    Array.from({ length: maxPartitions(placement) }, (_, partition) => ({ tenantId: id, partition })),
  );
}

/** Lists the partitions that a source of a tenant is in, on any day. */
export function partitionsOfSource({ id, placement }: PlacedTenant, sourceId: Id): PartitionRef[] {
  const partitions = new Set(placement.epochs.map((epoch) => partitionOf(sourceId, epoch.partitions)));
  return [...partitions].map((partition) => ({ tenantId: id, partition }));
}

/**
 * Returns the lane of a partition. A lane is one of several flushers that work in parallel. The lane depends only on
 * the partition. Consecutive partitions of a tenant are in different lanes.
 *
 * @param lanes number of lanes
 */
export function laneOf({ tenantId, partition }: PartitionRef, lanes: number): number {
  return (Buffer.from(tenantId.slice(0, 8), 'base64url').readUInt32BE(0) + partition) % lanes;
}

/**
 * Whether it is now a partition's turn for work that each partition needs once a day. A day is divided into turns of
 * equal length, which spread the work of the partitions over the day.
 *
 * @param turns number of turns in a day
 */
export function hasTurn(ref: PartitionRef, nowMs: number, turns: number): boolean {
  return laneOf(ref, turns) === Math.floor((nowMs * turns) / DAY_MS) % turns;
}

/**
 * Rotates a list of partitions. Callers vary `at`, so that a slow partition does not always delay the same other
 * partitions.
 *
 * @param at where to begin, as a fraction in [0, 1)
 */
export function rotate(partitions: readonly PartitionRef[], at: number): PartitionRef[] {
  const first = Math.floor(at * partitions.length);
  return [...partitions.slice(first), ...partitions.slice(0, first)];
}
