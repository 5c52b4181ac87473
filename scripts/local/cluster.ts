import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort, untilReady } from './server-process';
import { hotServerBinary } from './servers';
import { evenShare, planSlotMoves, type SlotRange } from './slot-moves';

/** A node counts as failed after this time without a response, in ms. */
const NODE_TIMEOUT_MS = 1_500;
/** Maximum number of keys moved by one MIGRATE. */
const MOVED_KEYS = 100;
const LOOK_MS = 20;

/** A server of the cluster, with its own client. */
export interface ClusterNode {
  readonly id: string;
  readonly port: number;
  readonly busPort: number;
  readonly child: ChildProcess;
  readonly redis: Redis;
  readonly pid: number;
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
}

export interface ClusterShape {
  /** @default 3 */
  readonly primaries?: number;
  /**
   * Replicas of each primary.
   *
   * @default 1
   */
  readonly replicas?: number;
}

/**
 * Starts a cluster on this machine.
 *
 * @param dir data directory; removed when the cluster stops
 */
export async function startCluster(
  dir: string,
  { primaries = 3, replicas = 1 }: ClusterShape = {},
): Promise<LocalCluster> {
  const cluster = new LocalCluster(dir);
  try {
    await cluster.form(primaries, replicas);
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

export class LocalCluster {
  /** The initial primaries, then their replicas in the same order, then nodes that joined. */
  nodes: readonly ClusterNode[] = [];
  private readonly started: ClusterNode[] = [];

  constructor(private readonly dir: string) {}

  /** Address in the form that functions expect. */
  get url(): string {
    return `redis://127.0.0.1:${this.nodes[0]!.port}?cluster=true`;
  }

  /** Starts the initial nodes. */
  async form(primaries: number, replicasEach: number): Promise<void> {
    const count = primaries * (1 + replicasEach);
    this.nodes = await Promise.all(Array.from({ length: count }, () => this.start()));
    const [first] = this.nodes as [ClusterNode];
    for (const [i, { redis, port, busPort }] of this.nodes.entries()) {
      await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
      await first.redis.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
    }
    await Promise.all(
      this.nodes
        .slice(0, primaries)
        .map(({ redis }, i) => redis.call('CLUSTER', 'ADDSLOTSRANGE', ...evenShare(i, primaries))),
    );
    await this.allSee('all nodes to know each other', new RegExp(`cluster_known_nodes:${count}\\b`));
    const replicas = this.nodes.slice(primaries);
    await Promise.all(
      replicas.map(({ redis }, i) =>
        untilReady('a replica', async () => {
          const primary = this.nodes[i % primaries]!.id;
          return (await redis.call('CLUSTER', 'REPLICATE', primary)) === 'OK';
        }),
      ),
    );
    await this.allSee('all slots to be served', /cluster_state:ok/);
    await untilReady('replicas in step', async () => {
      const infos = await Promise.all(replicas.map(({ redis }) => redis.info('replication')));
      return infos.every((text) => text.includes('master_link_status:up'));
    });
  }

  /** Returns the node that owns a slot, as reported by the first node that answers. */
  async ownerOf(slot: number): Promise<ClusterNode> {
    type Served = [first: number, last: number, primary: [host: string, port: number, id: string]];
    const replies = this.nodes.map(({ redis }) => redis.call('CLUSTER', 'SLOTS') as Promise<Served[]>);
    const ranges = await Promise.any(replies);
    const [, , [, port]] = ranges.find(([first, last]) => first <= slot && slot <= last)!;
    return this.nodes.find((node) => node.port === port)!;
  }

  /** Returns the slots that a node serves, as reported by itself. */
  async slotsOf({ redis }: ClusterNode): Promise<SlotRange[]> {
    const lines = (await redis.call('CLUSTER', 'NODES')) as string;
    return rangesIn(lines.split('\n').find((line) => line.includes('myself'))!);
  }

  /** Moves a slot between primaries key by key, while clients keep working. */
  async moveSlot(slot: number, from: ClusterNode, to: ClusterNode): Promise<void> {
    await to.redis.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
    await from.redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
    for (;;) {
      const keys = (await from.redis.call('CLUSTER', 'GETKEYSINSLOT', slot, MOVED_KEYS)) as string[];
      if (keys.length === 0) break;
      await from.redis.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, 'KEYS', ...keys);
    }
    // Inform the new owner first, so that the slot always has an owner.
    await to.redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
    await from.redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
    const others = this.nodes.filter((node) => node !== from && node !== to);
    await Promise.allSettled(
      others.map(({ redis }) => redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', to.id)),
    );
  }

  /** Moves slots between primaries. Valkey 9 moves all keys atomically; older servers move them key by key. */
  async moveSlots(ranges: readonly SlotRange[], from: ClusterNode, to: ClusterNode): Promise<void> {
    if (ranges.length === 0) return;
    try {
      await from.redis.call('CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', ...ranges.flat(), 'NODE', to.id);
    } catch (error) {
      if (!/unknown subcommand/i.test((error as Error).message)) throw error;
      for (const [first, last] of ranges)
        for (let slot = first; slot <= last; slot++) await this.moveSlot(slot, from, to);
      return;
    }
    for (;;) {
      const migrations = (await from.redis.call('CLUSTER', 'GETSLOTMIGRATIONS')) as unknown[][];
      // The newest migration comes first, as a list of names and values.
      const state = fieldOf(migrations[0]!, 'state');
      if (state === 'success') break;
      if (state === 'failed' || state === 'cancelled')
        throw new Error(`moving slots failed: ${fieldOf(migrations[0]!, 'message')}`);
      await sleep(LOOK_MS);
    }
    await untilReady('all nodes to know the new owner', async () => {
      const owners = await Promise.all(
        this.nodes.map(async ({ redis }) => {
          const lines = (await redis.call('CLUSTER', 'NODES').catch(() => '')) as string;
          const served = rangesIn(lines.split('\n').find((line) => line.startsWith(to.id)) ?? '');
          const [slot] = ranges[0]!;
          return lines === '' || served.some(([first, last]) => first <= slot && slot <= last);
        }),
      );
      return owners.every(Boolean);
    });
  }

  /** Changes the number of primaries and spreads slots evenly. Primaries join, or leave once they are empty. */
  async reshard(shards: number): Promise<void> {
    let primaries = await this.primaries();
    while (primaries.length < shards) primaries = [...primaries, await this.join()];
    const owned = await Promise.all(primaries.map((node) => this.slotsOf(node)));
    for (const { from, to, ranges } of planSlotMoves(owned, shards))
      await this.moveSlots(ranges, primaries[from]!, primaries[to]!);
    for (const node of primaries.slice(shards)) await this.leave(node);
  }

  /** Returns the primaries that answer, in the order of {@link nodes}. */
  async primaries(): Promise<ClusterNode[]> {
    const roles = await Promise.all(
      this.nodes.map(({ redis }) => redis.info('replication').catch(() => 'role:unknown')),
    );
    return this.nodes.filter((_, i) => /role:master/.test(roles[i]!));
  }

  /** Starts another primary, without slots. */
  async join(): Promise<ClusterNode> {
    const node = await this.start();
    const [first] = this.nodes as [ClusterNode];
    await first.redis.call('CLUSTER', 'MEET', '127.0.0.1', node.port, node.busPort);
    this.nodes = [...this.nodes, node];
    await untilReady('the new node to be known', async () => {
      const lists = await Promise.all(
        this.nodes.map(({ redis }) => redis.call('CLUSTER', 'NODES').catch(() => node.id) as Promise<string>),
      );
      return lists.every((list) => list.includes(node.id) && !/handshake/.test(list));
    });
    await this.allSee('the new node to be ready', /cluster_state:ok/);
    return node;
  }

  /** Stops a node that serves no slots. */
  async leave(node: ClusterNode): Promise<void> {
    this.nodes = this.nodes.filter((other) => other !== node);
    await Promise.allSettled(this.nodes.map(({ redis }) => redis.call('CLUSTER', 'FORGET', node.id)));
    await ended(node);
  }

  async stop(): Promise<void> {
    await Promise.all(this.started.map(ended));
    rmSync(this.dir, { recursive: true, force: true });
  }

  private async start(): Promise<ClusterNode> {
    for (;;) {
      const [port, busPort] = [await freePort(), await freePort()];
      const child = launch(this.dir, port, busPort);
      const redis = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 50, maxRetriesPerRequest: 1 });
      redis.on('error', () => {});
      const signal = (name: NodeJS.Signals) => void child.kill(name);
      const server = { id: '', port, busPort, redis, child, pid: child.pid!, signal };
      this.started.push(server);
      // Another process may have taken one of the ports.
      await untilReady(
        `node ${port}`,
        async () => child.exitCode !== null || (await redis.ping()) === 'PONG',
      );
      if (child.exitCode === null)
        return Object.assign(server, { id: String(await redis.call('CLUSTER', 'MYID')) });
      redis.disconnect();
    }
  }

  /** Waits until `CLUSTER INFO` of every node that answers matches. */
  private allSee(what: string, seen: RegExp): Promise<void> {
    return untilReady(what, async () => {
      const infos = await Promise.allSettled(
        this.nodes.map(({ redis }) => redis.call('CLUSTER', 'INFO') as Promise<string>),
      );
      return infos.every((info) => info.status === 'rejected' || seen.test(info.value));
    });
  }
}

async function ended({ child, redis }: ClusterNode): Promise<void> {
  redis.disconnect();
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

function fieldOf(migration: readonly unknown[], name: string): unknown {
  return migration[migration.indexOf(name) + 1];
}

/** Parses the slots that a node serves from its line in `CLUSTER NODES`, except those that are being moved. */
function rangesIn(line: string): SlotRange[] {
  const ranges = line.split(' ').slice(8);
  return ranges
    .filter((range) => !range.startsWith('['))
    .map((range) => {
      const [first, last = first] = range.split('-').map(Number);
      return [first!, last!] as const;
    });
}

function launch(dir: string, port: number, busPort: number): ChildProcess {
  const home = join(dir, String(port));
  mkdirSync(home, { recursive: true });
  const log = openSync(join(home, 'log'), 'a');
  return spawn(
    hotServerBinary(),
    [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', home, '--save', '', '--appendonly', 'no'],
      ...['--maxmemory-policy', 'noeviction', '--cluster-enabled', 'yes', '--cluster-port', String(busPort)],
      ...['--cluster-node-timeout', String(NODE_TIMEOUT_MS), '--cluster-require-full-coverage', 'no'],
      // A primary without slots stays a primary, so that it can get slots again or leave.
      ...['--cluster-allow-replica-migration', 'no'],
      // Let even a replica that was paused take over. Replication starts immediately.
      ...['--cluster-replica-validity-factor', '0', '--repl-diskless-sync-delay', '0'],
    ],
    { stdio: ['ignore', log, log] },
  );
}
