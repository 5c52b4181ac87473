import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startCluster } from '../../local/cluster';
import { startHotServer } from '../../local/servers';
import { mainThreadCpuMs } from './cpu';
import type { Harness } from './harness';

/** Empty primaries of the hot tier: one server, or a cluster of several without replicas. */
export interface HotNodes {
  /** Address of the nodes in the format of the functions' environment. */
  readonly url: string;
  /** One client per node. */
  readonly clients: readonly Redis[];
  /** Returns the CPU used by the main thread of each node, which executes commands, in ms. */
  cpuMs(): number[];
}

/** Starts nodes. The end of the run stops them. */
export async function startHotNodes(harness: Harness, count: number): Promise<HotNodes> {
  if (count > 1) {
    const cluster = await startCluster(join(harness.dir, 'cluster'), { primaries: count, replicas: 0 });
    harness.atEnd(() => cluster.stop());
    return {
      url: cluster.url,
      clients: cluster.nodes.map(({ redis }) => redis),
      cpuMs: () => cluster.nodes.map(({ pid }) => mainThreadCpuMs(pid)),
    };
  }
  const server = await startHotServer(
    harness.dir,
    () => {},
    () => {},
  );
  const client = new Redis(server.port, '127.0.0.1');
  harness.atEnd(() => {
    client.disconnect();
    return server.stop();
  });
  return {
    url: `redis://127.0.0.1:${server.port}`,
    clients: [client],
    cpuMs: () => [mainThreadCpuMs(server.pid())],
  };
}
