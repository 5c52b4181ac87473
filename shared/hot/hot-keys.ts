import type { Id } from '../model/id';
import { type GroupId, type PartitionRef, partitionText } from '../model/placement';

/**
 * The Redis keys of one partition. They all contain the partition's hash tag, so they are in one hash slot, and one
 * script call can use them:
 *
 *     {tenant:partition}:f:group:window   list of frames: a group's rows of one window, in order of arrival
 *     {tenant:partition}:w:group          set of the starts of the group's windows in memory
 *     {tenant:partition}:l:layout         zstd of a layout
 *     {tenant:partition}:due              sorted set: group:window by the time of its first write, by the Redis
 *                                         server's clock
 *     {tenant:partition}:leases           hash: group:window -> `token expiry takenAt`
 *     {tenant:partition}:mark             hash: node, era, loss, arrived, made, left, expired (mark-script.ts)
 *     {tenant:partition}:arrived          sorted set: group:window by the lowest stream arrival time of its frames
 *
 * `tenant` and `layout` are ids of 22 characters, `group` is an id of 27, `partition` has four digits, and `window` is
 * a Unix time in ms. No key contains bytes that a user chose (DESIGN.md, rule 7).
 */
export class HotKeys {
  /** The hash tag of the keys, with braces. */
  readonly tag: string;

  constructor({ tenantId, partition }: PartitionRef) {
    this.tag = `{${tenantId}:${partitionText(partition)}}`;
  }

  frames(group: GroupId, windowStart: number): string {
    return `${this.tag}:f:${group}:${windowStart}`;
  }

  windows(group: GroupId): string {
    return `${this.tag}:w:${group}`;
  }

  layout(layoutId: Id): string {
    return `${this.tag}:l:${layoutId}`;
  }

  get due(): string {
    return `${this.tag}:due`;
  }

  get leases(): string {
    return `${this.tag}:leases`;
  }

  get mark(): string {
    return `${this.tag}:mark`;
  }

  get arrived(): string {
    return `${this.tag}:arrived`;
  }

  /** Returns a pattern for SCAN that matches all keys of a tenant. No character of an id is special in patterns. */
  static patternOf(tenantId: Id): string {
    return `{${tenantId}:*`;
  }

  /** Returns the hash tag of a key, with braces. */
  static tagOf(key: string): string {
    return key.slice(0, key.indexOf('}') + 1);
  }
}

/** Returns the string that identifies a group-window in `due`, `leases` and `arrived`. */
export function windowMember(group: GroupId, windowStart: number): string {
  return `${group}:${windowStart}`;
}

export function parseWindowMember(member: string): { group: GroupId; windowStart: number } {
  const colon = member.indexOf(':');
  return { group: member.slice(0, colon), windowStart: Number(member.slice(colon + 1)) };
}
