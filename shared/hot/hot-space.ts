import type { Id } from '../model/id';
import type { GroupId, PartitionRef } from '../model/placement';
import { HotKeys, parseWindowMember } from './hot-keys';
import type { HotNodes } from './hot-nodes';
import type { ScriptedClient } from './scripts';

/** Approximate number of keys that one step of a scan visits. */
const SCAN_COUNT = 1_000;

/** Measures and frees the memory that keys take, for operator commands. */
export class HotSpace {
  constructor(
    private readonly redis: ScriptedClient,
    private readonly nodes: HotNodes,
  ) {}

  /**
   * Estimates the memory that the frames of a partition take, in bytes. Measures only some of the partition's
   * group-windows.
   *
   * @param sampled maximum number of group-windows to measure
   */
  async bytes(ref: PartitionRef, sampled = 32): Promise<number> {
    const keys = new HotKeys(ref);
    const [count, members] = await Promise.all([
      this.redis.zcard(keys.due),
      this.redis.zrange(keys.due, '0', String(sampled - 1)),
    ]);
    if (members.length === 0) return 0;
    const sizes = await Promise.all(
      members.map(parseWindowMember).map((due) => this.memoryOf(keys.frames(due.group, due.windowStart))),
    );
    return Math.round((sizes.reduce((sum, bytes) => sum + bytes, 0) / sizes.length) * count);
  }

  keyOf(ref: PartitionRef, group: GroupId, windowStart: number): string {
    return new HotKeys(ref).frames(group, windowStart);
  }

  /** Returns the memory that a key takes in bytes, including Redis' overhead; 0 if it does not exist. */
  async memoryOf(key: string): Promise<number> {
    return (await this.redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0;
  }

  /**
   * Removes every key of a tenant. The hash tags of these keys begin with the tenant's id (platform/keys.ts). Scans
   * every primary in small steps. If time runs out, a later call removes the keys that remain.
   *
   * @param hasTime called before each step; once it returns false, `eraseTenant` returns early
   * @returns how many keys were removed, and whether every primary was scanned to the end
   */
  async eraseTenant(tenantId: Id, hasTime: () => boolean): Promise<{ keys: number; isDone: boolean }> {
    let keys = 0;
    for (const node of await this.nodes.primaries()) {
      let cursor = '0';
      do {
        if (!hasTime()) return { keys, isDone: false };
        const [next, found] = await node.scan(
          cursor,
          'MATCH',
          HotKeys.patternOf(tenantId),
          'COUNT',
          SCAN_COUNT,
        );
        cursor = next;
        // In a cluster, the keys of one command must all be in one hash slot.
        for (const slot of Map.groupBy(found, HotKeys.tagOf).values())
          keys += await this.redis.unlink(...slot);
      } while (cursor !== '0');
    }
    return { keys, isDone: true };
  }
}
