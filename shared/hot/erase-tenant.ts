import { Cluster } from 'ioredis';
import type { Id } from '../model/id';
import { HotKeys } from '../platform/keys';
import type { HotClient } from './connection';

/** Keys one step of a scan looks at. */
const SCAN_COUNT = 1_000;

/**
 * Removes every key of a tenant, of whatever kind: all its hash tags begin with its id (platform/keys.ts).
 *
 * Walks the keys of every node, in small steps; what is removed was not there for the next walk.
 *
 * @param hasTime asked before each step
 * @returns how many were removed, and whether the walk came to its end
 */
export async function eraseTenantKeys(
  client: HotClient,
  tenantId: Id,
  hasTime: () => boolean,
): Promise<{ keys: number; isDone: boolean }> {
  // Cluster mode: a scan is of one node.
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  let keys = 0;
  for (const node of nodes) {
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
      // By slot, which in cluster mode the keys of one command must share.
      for (const slot of Map.groupBy(found, HotKeys.tagOf).values()) keys += await client.unlink(...slot);
    } while (cursor !== '0');
  }
  return { keys, isDone: true };
}
