import type { GroupId, PartitionRef } from '../model/placement';
import { partitionText } from '../model/placement';

/**
 * The keys of the hot tier, all in one place. Those of a partition share its hash tag, so one script call
 * touches one slot. No user bytes (design.md, rule 7).
 */
export function hashTag({ tenantId, partition }: PartitionRef): string {
  return `{${tenantId}:${partitionText(partition)}}`;
}

/** List of frames: a group's samples of one window, in the order they came. */
export function framesKey(tag: string, group: GroupId, windowStart: number): string {
  return `${tag}:f:${group}:${windowStart}`;
}

/** Set of the window starts (ms) a group has in memory. */
export function windowsKey(tag: string, group: GroupId): string {
  return `${tag}:w:${group}`;
}

/** Compressed bytes of a layout. */
export function layoutKey(tag: string, layoutId: string): string {
  return `${tag}:l:${layoutId}`;
}

/** Sorted set of the partition's group-windows by when they were first written (the store's clock, ms). */
export function dueKey(tag: string): string {
  return `${tag}:due`;
}

/** Hash of leases: member of the due index -> `token expiry takenAt`. */
export function leasesKey(tag: string): string {
  return `${tag}:leases`;
}

/**
 * Hash, by which a loss is noticed: `node` is the replication id of the primary that wrote last (another one may lack the
 * end of what that one had), `loss` the loss after which it was made, `arrived` from when on a failover may have lost.
 */
export function markKey(tag: string): string {
  return `${tag}:mark`;
}

/** Sorted set of the partition's group-windows by the lowest stream arrival time (ms) of what they hold. */
export function arrivedKey(tag: string): string {
  return `${tag}:arrived`;
}

/** The member of the due index for a group-window. */
export function dueMember(group: GroupId, windowStart: number): string {
  return `${group}:${windowStart}`;
}

export function parseDueMember(member: string): { group: GroupId; windowStart: number } {
  const colon = member.indexOf(':');
  return { group: member.slice(0, colon), windowStart: Number(member.slice(colon + 1)) };
}
