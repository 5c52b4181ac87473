import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from '../../scripts/bench/harness/quantile';
import { type ClusterNode, type LocalCluster, startCluster } from '../../scripts/local/cluster';
import type { Resharding } from '../../scripts/ops/elasticache';
import { scale } from '../../scripts/ops/scale';
import { flushPartition } from '../../shared/flush/execute';
import { type PartitionRef, tenantIdOf } from '../../shared/model/placement';
import { watchMemory } from '../../shared/operations/memory-commands';
import { limiter, mapLimited } from '../../shared/platform/concurrency';
import { ClusterFeed } from '../support/cluster-feed';
import { ClusterReaders, type Phase } from '../support/cluster-readers';
import { IS_LONG } from '../support/long';
import { temporaryDir } from '../support/temporary-dir';
import { startTiers, type Tiers } from '../support/tiers';

const HOUR_MS = 3_600_000;
const READERS = 10;
/** Pause between two reads of a reader, in ms. */
const READ_PAUSE_MS = 50;
/**
 * Number of group-windows drained concurrently. DynamoDB's stand-in answers one request at a time, so a higher number
 * would make readers wait for it.
 */
const DRAINED_AT_ONCE = 2;
/**
 * The long form of the test posts 50,000 samples a second, and compares reads with those at rest: `npm run test:long`.
 */
const [HOSTS, METRICS] = IS_LONG ? [500, 100] : [48, 5];
const PARTITIONS = Math.max(24, HOSTS / 4);
/** Number of rounds of posts before anything moves. */
const REST_ROUNDS = IS_LONG ? 10 : 1;
const whole = { lost: 0, doubled: 0, wrong: 0 };

const tenant = {
  id: tenantIdOf('growth'),
  name: 'growth',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: PARTITIONS }] },
};
const partitions: PartitionRef[] = Array.from({ length: PARTITIONS }, (_, partition) => ({
  tenantId: tenant.id,
  partition,
}));
const hosts = Array.from({ length: HOSTS }, (_, h) => `host${h}`);
const names = Array.from({ length: METRICS }, (_, m) => `m${m}`);

const startMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;

describe('a cluster that grows and shrinks while it is used', () => {
  let cluster: LocalCluster;
  let tiers: Tiers;
  let readers: ClusterReaders;
  let endLoad: () => Promise<unknown> = async () => {};

  // A test that fails halfway leaves its load running, and the load would affect the next test file in this process.
  afterEach(async () => {
    await endLoad().catch(() => {});
  });

  beforeAll(async () => {
    cluster = await startCluster(temporaryDir());
    tiers = await startTiers({ redisUrl: cluster.url });
    const { redisUrl, awsPort } = tiers;
    const task = { redisUrl, awsPort, tenant, names, hosts, count: READERS, pauseMs: READ_PAUSE_MS };
    [readers] = await Promise.all([
      ClusterReaders.start(task),
      tiers.tenants.create(tenant.name, PARTITIONS),
    ]);
    await tiers.losses.lookAndRecord();
  });

  afterAll(async () => {
    readers?.end();
    await tiers?.stop();
    await cluster?.stop();
  });

  /** Flushes everything in memory, as a drain's slice does. */
  async function drained(): Promise<unknown> {
    const before = await tiers.hot.nodes.now();
    const limit = limiter(DRAINED_AT_ONCE);
    const moved = await mapLimited(partitions, 8, async (ref) => {
      await tiers.losses.resolve(ref);
      return flushPartition({ ...tiers, windowMs: HOUR_MS }, ref, before, () => true, { limit });
    });
    const samples = moved.reduce((sum, each) => sum + each.samples, 0);
    return { before, windows: moved.length, samples, bytes: 0, remaining: 0 };
  }

  /** Stands for the functions that the command invokes: it runs their work in this process. */
  const functions = {
    invoke: async <T>(name: string, payload: unknown): Promise<T> => {
      await readers.phase(name === 'flusher' ? 'drain' : 'move');
      return (await (name === 'flusher'
        ? drained()
        : watchMemory({ ...tiers, now: Date.now }, payload as Parameters<typeof watchMemory>[1]))) as T;
    },
  };

  /** Reshards with the local cluster's own commands, in the background as ElastiCache does. */
  function resharding(): Resharding & { readonly failures: string[] } {
    const failures: string[] = [];
    let running: Promise<void> | undefined;
    return {
      failures,
      look: async () => {
        // If a primary is killed between the two requests, it counts as a primary without slots.
        const primaries = await cluster.primaries();
        const slots = await Promise.all(primaries.map((node) => cluster.slotsOf(node).catch(() => [])));
        const shards = slots.filter((ranges) => ranges.length > 0).length;
        return { shards, isChanging: running !== undefined };
      },
      begin: async (shards) => {
        running = cluster
          .reshard(shards)
          .catch((error: Error) => void failures.push(error.message))
          .finally(() => {
            running = undefined;
          });
      },
    };
  }

  const scaleTo = (shards: number, of = resharding()) =>
    scale(functions, of, { shards, drains: true, lookMs: 100, beginMs: 1_000 }, () => {});

  /** Posts and reads until it is told to stop. */
  function load(feed: ClusterFeed, startMs: number) {
    let isOver = false;
    readers.begin(startMs);
    const posts = (async () => {
      while (!isOver) {
        const begunMs = Date.now();
        await feed.round(hosts, true);
        readers.appended(feed.last);
        await sleep(Math.max(0, begunMs + 1_000 - Date.now()));
      }
    })();
    const endPosts = async () => {
      isOver = true;
      await posts;
    };
    endLoad = endPosts;
    return {
      /**
       * Waits for some rounds while nothing moves. The test does so before and after each change, because other work
       * may slow the machine.
       */
      rested: async () => {
        await readers.phase('rest');
        const begun = feed.last;
        while (feed.last < begun + REST_ROUNDS) await sleep(20);
      },
      stop: async () => {
        await endPosts();
        return readers.stop();
      },
    };
  }

  test('3 -> 5 -> 3 nodes: nothing lost, wrong or refused, and nothing read again', async () => {
    const feed = new ClusterFeed(tiers, tenant, startMs, names);
    await feed.round(hosts, false);
    const { rested, stop } = load(feed, startMs);
    // Drain first, so that reads at rest come from memory and the warm tier, as later reads do.
    await readers.phase('drain');
    if (IS_LONG) await drained();
    await rested();
    const grown = await scaleTo(5);
    if (IS_LONG) await rested();
    const shrunk = await scaleTo(3);
    if (IS_LONG) await rested();
    const { errors, readMs, waits } = await stop();
    const p99 = (phase: Phase) =>
      `${Math.round(quantile(readMs[phase], 0.99))} ms of ${readMs[phase].length}`;
    console.log(
      `3 -> 5 in ${grown.ms} ms, 5 -> 3 in ${shrunk.ms} ms, ${feed.last} rounds of ${HOSTS} x ${METRICS} samples; ` +
        `read p99 ${p99('rest')} at rest, ${p99('drain')} while memory was drained, ${p99('move')} while slots moved`,
    );
    expect({ grown, shrunk, loss: await tiers.recovery.loss() }).toMatchObject({
      grown: { losses: 0 },
      shrunk: { losses: 0 },
      loss: undefined,
    });
    // The governor made reads wait only during the drain and the move.
    expect(waits.rest).toBe(0);
    expect(waits.drain + waits.move).toBeGreaterThan(0);
    expect({ errors, failures: feed.failures, reasons: [...feed.errors] }).toEqual({
      errors: [],
      failures: [],
      reasons: [],
    });
    expect(await feed.check()).toMatchObject(whole);
    await drained();
    expect(await feed.check()).toMatchObject(whole);
  });

  test('a primary killed while its slots move: noticed, read again, nothing lost', async () => {
    const feed = new ClusterFeed(tiers, tenant, startMs - HOUR_MS, names);
    await feed.round(hosts, false);
    const { rested, stop } = load(feed, startMs - HOUR_MS);
    await rested();
    const killed = cluster.nodes[1] as ClusterNode;
    const way = resharding();
    const growing = scaleTo(5, way);
    // Wait until the first new primary has slots.
    for (;;) {
      const primaries = await cluster.primaries();
      const joined = primaries[3];
      if (joined !== undefined && (await cluster.slotsOf(joined)).length > 0) break;
    }
    killed.signal('SIGKILL');
    const { losses, to } = await growing;
    const { errors } = await stop();
    expect({ losses: losses > 0, to }).toEqual({ losses: true, to: 5 });
    const loss = (await tiers.recovery.loss())!;
    expect(loss.isOpen).toBe(true);
    // Until the lost samples are replayed, reads are refused as incomplete.
    const again = await feed.replay();
    const incomplete = errors.filter((error) => /not|incomplete|missing|lack/i.test(error)).length;
    console.log(
      `killed while it gave slots away (${way.failures.join('; ') || 'after its move'}): ${losses} notices (${loss.reason}), ` +
        `${again} of ${feed.records.length} records read again; ${errors.length} reads refused, ${incomplete} of them as incomplete`,
    );
    expect(errors.filter((error) => /: \d+$/.test(error))).toEqual([]);
    expect(await feed.check()).toMatchObject(whole);
    await drained();
    expect(await feed.check()).toMatchObject(whole);
  });
});
