import keySlot from 'cluster-key-slot';
import { Redis } from 'ioredis';
import type { PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { HotKeys } from './hot-keys';
import type { ScriptedClient } from './scripts';
import { type PrimaryReply, primariesOf, type Topology } from './topology';

/** Number of primaries that are asked at the same time. */
const NODES_AT_ONCE = 4;

/** Asks the nodes of the memory tier for the time, their memory usage and their roles. */
export class HotNodes {
  constructor(private readonly redis: ScriptedClient) {}

  /** Reads the Redis server's clock, in ms. This clock decides when group-windows are due. */
  async now(): Promise<number> {
    const [seconds, micros] = await this.redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }

  /** Returns how full the memory of the fullest primary is, from 0 to 1. Skips primaries that do not answer. */
  async fullness(): Promise<number> {
    const nodes = await this.primaries();
    const infos = await Promise.all(nodes.map((node) => node.info('memory').catch(() => '')));
    return Math.max(0, ...infos.map(fullnessOf));
  }

  /**
   * Asks every primary for its identity and hash slots, including primaries without slots, which a cluster client does
   * not know about.
   */
  async topology(): Promise<Topology> {
    const primaries = await this.primaries();
    if (!('nodes' in this.redis)) {
      const info = await this.redis.info('replication', 'server').catch(() => '');
      return primariesOf([{ info, nodes: '' }]);
    }
    // Ask every node for its failure counters before anything else. A failure that happens during this call is then not
    // in the counters yet, and the next call notices it.
    const clusters = await mapLimited(primaries, NODES_AT_ONCE, (node) =>
      (node.cluster('INFO') as Promise<string>).catch(() => ''),
    );
    const readState = async (node: Redis, cluster?: string): Promise<PrimaryReply> => {
      const [info, nodes] = await Promise.all([
        node.info('replication', 'server'),
        node.cluster('NODES') as Promise<string>,
      ]).catch(() => ['', ''] as const);
      return { info, nodes, cluster };
    };
    const replies = await mapLimited(primaries, NODES_AT_ONCE, (node, i) => readState(node, clusters[i]));
    const { unreached } = primariesOf(replies);
    const more = await mapLimited(unreached, NODES_AT_ONCE, async ({ host, port }) => {
      const node = new Redis({ ...primaries[0]!.options, host, port, retryStrategy: () => null });
      node.on('error', () => {});
      const reply = await readState(node);
      node.disconnect();
      return reply;
    });
    return primariesOf([...replies, ...more]);
  }

  /** Returns the hash slot of a partition's keys, 0 to 16,383. */
  slotOf(ref: PartitionRef): number {
    return keySlot(new HotKeys(ref).tag);
  }

  /**
   * Returns the node that serves a hash tag according to this client's map of hash slots; '' if the store is not a
   * cluster.
   */
  nodeOf(tag: string): string {
    if (!('slots' in this.redis)) return '';
    return this.redis.slots[keySlot(tag)]?.[0] ?? '';
  }

  /**
   * Returns a client for each primary. A cluster client does not know any node until one has answered, so this method
   * first waits for a reply.
   */
  async primaries(): Promise<Redis[]> {
    await this.now();
    return 'nodes' in this.redis ? this.redis.nodes('master') : [this.redis];
  }
}

/**
 * Computes how full a node's memory is, 0 to 1, from the node's reply to `INFO memory`. Returns 0 if the node has no
 * limit (`maxmemory`) or did not answer ('').
 */
export function fullnessOf(info: string): number {
  const maxBytes = numberOf(info, 'maxmemory');
  return maxBytes === 0 ? 0 : numberOf(info, 'used_memory') / maxBytes;
}

function numberOf(info: string, field: string): number {
  return Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
}
