import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startCluster } from '../local/cluster';
import { freePort, startHotServer } from '../local/servers';

/** Empty primaries of the hot tier: one server, or a cluster of several without replicas. */
export interface HotNodes {
  /** In the form that functions take. */
  readonly url: string;
  /** A client of each node. */
  readonly clients: readonly Redis[];
  /** The CPU that each node's main thread has used, which runs commands, ms. */
  cpuMs(): number[];
  /** The memory that they use together, bytes. */
  usedMemory(): Promise<number>;
  stop(): Promise<void>;
}

export async function startHotNodes(dir: string, count: number): Promise<HotNodes> {
  if (count > 1) {
    const cluster = await startCluster(join(dir, 'cluster'), { primaries: count, replicas: 0 });
    const clients = cluster.nodes.map(({ redis }) => redis);
    return {
      url: cluster.url,
      clients,
      cpuMs: () => cluster.nodes.map(({ pid }) => cpuMs(pid)),
      usedMemory: () => usedMemory(clients),
      stop: () => cluster.stop(),
    };
  }
  const server = await startHotServer(
    dir,
    await freePort(),
    () => {},
    () => {},
  );
  const client = new Redis(server.port, '127.0.0.1');
  return {
    url: `redis://127.0.0.1:${server.port}`,
    clients: [client],
    cpuMs: () => [cpuMs(server.pid())],
    usedMemory: () => usedMemory([client]),
    stop: async () => {
      client.disconnect();
      await server.stop();
    },
  };
}

/** @see https://docs.kernel.org/scheduler/sched-stats.html */
function cpuMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

async function usedMemory(clients: readonly Redis[]): Promise<number> {
  const infos = await Promise.all(clients.map((client) => client.info('memory')));
  return infos.reduce((total, info) => total + Number(/^used_memory:(\d+)/m.exec(info)![1]), 0);
}
