import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort, hotServerBinary } from '../../scripts/local/servers';
import { temporaryDir } from './temporary-dir';
import { until } from './until';

const PRIMARIES = 3;
const SLOTS = 16_384;
/** A node that does not answer for so long counts as failed. */
const NODE_TIMEOUT_MS = 1_500;
/** Keys moved by one MIGRATE. */
const MOVED_KEYS = 100;

/** A server of the cluster, with a client of its own. */
export interface ClusterNode {
  readonly id: string;
  readonly port: number;
  readonly redis: Redis;
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
}

export interface LocalCluster {
  /** In the form that functions take. */
  readonly url: string;
  /** The three first primaries, then a replica of each, in the same order. */
  readonly nodes: readonly ClusterNode[];
  /** The node that owns a slot now, by the first node's answer. */
  ownerOf(slot: number): Promise<ClusterNode>;
  /** Moves a slot and its keys between primaries as a reshard does: key by key, while clients go on. */
  moveSlot(slot: number, from: ClusterNode, to: ClusterNode): Promise<void>;
  stop(): Promise<void>;
}

/** Starts three primaries with a replica each on this machine. */
export async function startCluster(): Promise<LocalCluster> {
  const dir = temporaryDir();
  const started: StartedNode[] = [];
  const stop = async () => {
    await Promise.all(started.map(ended));
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    const launched = Array.from({ length: 2 * PRIMARIES }, () =>
      startNode(dir, (node) => started.push(node)),
    );
    return await form(await Promise.all(launched), stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

interface StartedNode extends ClusterNode {
  readonly busPort: number;
  readonly child: ChildProcess;
}

async function startNode(dir: string, onStart: (node: StartedNode) => void): Promise<StartedNode> {
  for (;;) {
    const [port, busPort] = [await freePort(), await freePort()];
    const child = launch(dir, port, busPort);
    const redis = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 50, maxRetriesPerRequest: 1 });
    redis.on('error', () => {});
    const signal = (name: NodeJS.Signals) => void child.kill(name);
    const node = { id: '', port, busPort, redis, child, signal };
    onStart(node);
    const isUp = await until(
      `node ${port}`,
      // Another process may have taken one of the ports meanwhile.
      async () => (child.exitCode === null ? redis.ping().catch(() => '') : false),
      (pong) => pong === 'PONG' || pong === false,
      30_000,
    );
    if (isUp !== false) return Object.assign(node, { id: String(await redis.call('CLUSTER', 'MYID')) });
    redis.disconnect();
  }
}

async function ended({ child, redis }: StartedNode): Promise<void> {
  redis.disconnect();
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

async function form(nodes: readonly StartedNode[], stop: () => Promise<void>): Promise<LocalCluster> {
  const primaries = nodes.slice(0, PRIMARIES);
  const replicas = nodes.slice(PRIMARIES);
  for (const [i, { redis, port, busPort }] of nodes.entries()) {
    await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
    await nodes[0]!.redis.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
  }
  await Promise.all(
    primaries.map(({ redis }, i) => {
      const first = Math.floor((SLOTS * i) / PRIMARIES);
      const last = Math.floor((SLOTS * (i + 1)) / PRIMARIES) - 1;
      return redis.call('CLUSTER', 'ADDSLOTSRANGE', first, last);
    }),
  );
  const info = (redis: Redis, section: 'CLUSTER' | 'REPLICATION') =>
    (section === 'CLUSTER' ? redis.call('CLUSTER', 'INFO') : redis.info('replication')) as Promise<string>;
  const all = (
    what: string,
    members: readonly { redis: Redis }[],
    section: 'CLUSTER' | 'REPLICATION',
    seen: RegExp,
  ) =>
    until(
      what,
      () => Promise.all(members.map(({ redis }) => info(redis, section))),
      (infos) => infos.every((text) => seen.test(text)),
      30_000,
    );
  await all('all nodes to know each other', nodes, 'CLUSTER', /cluster_known_nodes:6/);
  await Promise.all(
    replicas.map(({ redis }, i) =>
      until(
        'a replica',
        () => redis.call('CLUSTER', 'REPLICATE', primaries[i]!.id).catch((error: Error) => error.message),
        (reply) => reply === 'OK',
      ),
    ),
  );
  await all('all slots to be served', nodes, 'CLUSTER', /cluster_state:ok/);
  await all('replicas in step', replicas, 'REPLICATION', /master_link_status:up/);

  const nodeAt = (port: number) => nodes.find((node) => node.port === port)!;
  return {
    url: `redis://127.0.0.1:${nodes[0]!.port}?cluster=true`,
    nodes,
    ownerOf: async (slot) => {
      const answers = nodes.map(({ redis }) => redis.call('CLUSTER', 'SLOTS') as Promise<SlotRange[]>);
      const ranges = await Promise.any(answers);
      return nodeAt(ranges.find(([first, last]) => first <= slot && slot <= last)![2][1]);
    },
    moveSlot: (slot, from, to) => moveSlot(nodes, slot, from, to),
    stop,
  };
}

type SlotRange = [first: number, last: number, primary: [host: string, port: number, id: string]];

function launch(dir: string, port: number, busPort: number): ChildProcess {
  const home = join(dir, String(port));
  mkdirSync(home);
  const log = openSync(join(home, 'log'), 'a');
  return spawn(
    hotServerBinary(),
    [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', home, '--save', '', '--appendonly', 'no'],
      ...['--maxmemory-policy', 'noeviction', '--cluster-enabled', 'yes', '--cluster-port', String(busPort)],
      ...['--cluster-node-timeout', String(NODE_TIMEOUT_MS), '--cluster-require-full-coverage', 'no'],
      // A replica that was paused may still take over, and replication begins at once.
      ...['--cluster-replica-validity-factor', '0', '--repl-diskless-sync-delay', '0'],
    ],
    { stdio: ['ignore', log, log] },
  );
}

async function moveSlot(
  nodes: readonly ClusterNode[],
  slot: number,
  from: ClusterNode,
  to: ClusterNode,
): Promise<void> {
  await to.redis.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
  await from.redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
  for (;;) {
    const keys = (await from.redis.call('CLUSTER', 'GETKEYSINSLOT', slot, MOVED_KEYS)) as string[];
    if (keys.length === 0) break;
    await from.redis.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, 'KEYS', ...keys);
  }
  // The new owner hears first, so that the slot always has one.
  await to.redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
  await from.redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
  await Promise.allSettled(
    nodes
      .filter((node) => node !== from && node !== to)
      .map(({ redis }) => redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', to.id)),
  );
}
