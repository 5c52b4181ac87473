import { type ClusterNode, type LocalCluster, startCluster } from '../../scripts/local/cluster';
import { flushPartition } from '../../shared/flush/execute';
import { connectHot } from '../../shared/hot/connection';
import { HotKeys } from '../../shared/hot/hot-keys';
import { HotTier } from '../../shared/hot/hot-tier';
import { metricOf, sourceOf } from '../../shared/model/labels';
import { type PartitionRef, partitionOf, sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import { mapLimited } from '../../shared/platform/concurrency';
import { IncompleteReadError } from '../../shared/query/incomplete';
import { readSeries } from '../../shared/query/read-series';
import { ClusterFeed, CORRECTED_AFTER } from '../support/cluster-feed';
import { temporaryDir } from '../support/temporary-dir';
import { startTiers, type Tiers } from '../support/tiers';
import { until } from '../support/until';

const HOUR_MS = 3_600_000;
const PARTITIONS = 24;
const HOSTS = 48;
const METRICS = 5;
const names = Array.from({ length: METRICS }, (_, m) => `m${m}`);
const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: PARTITIONS }] },
};
const partitions: PartitionRef[] = Array.from({ length: PARTITIONS }, (_, partition) => ({
  tenantId: tenant.id,
  partition,
}));
const whole = { lost: 0, doubled: 0, wrong: 0 };

describe('a hot tier of three primaries, each with a replica', () => {
  let cluster: LocalCluster;
  let tiers: Tiers;
  const hosts = Array.from({ length: HOSTS }, (_, h) => `host${h}`);
  const start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - HOUR_MS;

  beforeAll(async () => {
    cluster = await startCluster(temporaryDir());
    tiers = await startTiers({ redisUrl: cluster.url });
    await tiers.tenants.create(tenant.name, PARTITIONS);
    // Look at the primaries, as the flusher's runs do.
    await tiers.losses.lookAndRecord();
  });

  afterAll(async () => {
    await tiers?.stop();
    await cluster?.stop();
  });

  const feedFrom = (startMs: number) => new ClusterFeed(tiers, tenant, startMs, names);
  const partitionOfHost = (host: string) =>
    partitions[partitionOf(sourceIdOf(tenant.id, sourceOf.host(host)), PARTITIONS)]!;
  const slotOf = async (ref: PartitionRef) =>
    Number(await cluster.nodes.at(-1)!.redis.call('CLUSTER', 'KEYSLOT', new HotKeys(ref).tag));

  /** The hosts whose partitions are on a node. */
  async function hostsOn(node: ClusterNode): Promise<string[]> {
    const owners = await Promise.all(
      hosts.map(async (host) => cluster.ownerOf(await slotOf(partitionOfHost(host)))),
    );
    return hosts.filter((_, h) => owners[h] === node);
  }

  async function flushAll(): Promise<number> {
    let windows = 0;
    const before = await tiers.hot.nodes.now();
    await mapLimited(partitions, 8, async (ref) => {
      await tiers.losses.resolve(ref);
      const moved = await flushPartition({ ...tiers, windowMs: HOUR_MS }, ref, before, () => true);
      expect(moved.failures).toEqual([]);
      windows += moved.windows;
    });
    return windows;
  }

  test('takes appends, leases, trims and reads of partitions on every node, one slot each', async () => {
    const feed = feedFrom(start);
    for (let round = 0; round < 5; round++) await feed.round(hosts, false);
    for (const node of cluster.nodes.slice(0, 3)) {
      expect(await node.redis.dbsize()).toBeGreaterThan(0);
      expect((await hostsOn(node)).length).toBeGreaterThan(0);
    }
    // The nodes have no memory limit, so their fullness counts as 0.
    expect(await tiers.hot.nodes.fullness()).toBe(0);
    expect(await feed.check()).toMatchObject({ ...whole, read: 5 * HOSTS * METRICS });
    expect(await flushAll()).toBe(HOSTS);
    const owners = await Promise.all(partitions.map(async (ref) => cluster.ownerOf(await slotOf(ref))));
    expect(new Set(owners).size).toBe(3);
    const empty = { oldestMs: undefined, dueMs: undefined, lowestArrivalMs: undefined };
    expect(await tiers.hot.marks.survey(partitions)).toEqual(partitions.map(() => empty));
    for (const ref of partitions) expect((await tiers.hot.mover.due(ref, Infinity)).count).toBe(0);
    expect(await feed.check()).toMatchObject({ ...whole, read: 5 * HOSTS * METRICS });
  });

  test('a client that has just started knows the time and the nodes', async () => {
    const hot = new HotTier(connectHot(cluster.url), HOUR_MS);
    const beforeMs = Date.now();
    const nowMs = await hot.nodes.now();
    // In some versions, a node's clock counts whole seconds.
    expect(nowMs).toBeGreaterThan(beforeMs - 1_000);
    expect(nowMs).toBeLessThan(Date.now() + 1_000);
    expect(await hot.nodes.fullness()).toBe(0);
    const { text, isMoving } = await hot.nodes.topology();
    expect(text).toMatch(/^(\w{40} \d+-\d+(; |$)){3}$/);
    expect(isMoving).toBe(false);
    await hot.close();
  });

  test('erasing a tenant waits until a client that has just started knows the nodes', async () => {
    const tenantId = tenantIdOf('erased');
    const keys = Array.from({ length: 30 }, (_, partition) => new HotKeys({ tenantId, partition }).due);
    const client = connectHot(cluster.url);
    for (const key of keys) await client.set(key, 'x');
    client.disconnect();
    const hot = new HotTier(connectHot(cluster.url), HOUR_MS);
    const erased = await hot.space.eraseTenant(tenantId, () => true);
    await hot.close();
    expect(erased).toEqual({ keys: keys.length, isDone: true });
  });

  test('that cannot be reached is an error', async () => {
    const client = connectHot('redis://127.0.0.1:1?cluster=true');
    const hot = new HotTier(client, HOUR_MS);
    await expect(hot.marks.read(partitions[0]!)).rejects.toThrow('timed out');
    client.disconnect();
  });

  /** Reads hosts one after the other until `isOver`, as the query function does; each read must be complete or fail. */
  async function readOn(
    feed: ClusterFeed,
    isOver: () => boolean,
  ): Promise<{ reads: number; errors: string[] }> {
    let reads = 0;
    const errors: string[] = [];
    while (!isOver()) {
      const host = hosts[reads++ % HOSTS]!;
      const lost = await feed.lostOf(host).catch((error: Error) => error.message);
      if (lost !== 0) errors.push(`${host}: ${lost}`);
    }
    return { reads, errors };
  }

  test('slots that move between nodes under posts and reads are no loss: nothing fails, nothing is read again', async () => {
    const feed = feedFrom(start + HOUR_MS);
    const primaries = cluster.nodes.slice(0, 3) as [ClusterNode, ClusterNode, ClusterNode];
    const moving = await hostsOn(primaries[0]);
    const slots = [...new Set(await Promise.all(moving.map((host) => slotOf(partitionOfHost(host)))))];
    let isMoving = true;
    const load = (async () => {
      let rounds = 0;
      while (isMoving || rounds < 5) {
        await feed.round(hosts, true);
        rounds++;
      }
      return rounds;
    })();
    const readers = Promise.all(Array.from({ length: 3 }, () => readOn(feed, () => !isMoving)));
    const looks = (async () => {
      while (isMoving) {
        await tiers.losses.lookAndRecord();
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    })();
    const begin = Date.now();
    // Move the slots through all primaries and back.
    for (let i = 0; i < 3; i++)
      for (const slot of slots) await cluster.moveSlot(slot, primaries[i % 3]!, primaries[(i + 1) % 3]!);
    const movedMs = Date.now();
    isMoving = false;
    const rounds = await load;
    await looks;
    const found = await readers;
    const redirections = await redirectionsOf(primaries);
    expect(redirections.MOVED).toBeGreaterThan(0);
    expect(redirections.ASK + redirections.TRYAGAIN).toBeGreaterThan(0);
    console.log(
      `${slots.length} slots moved three times in ${movedMs - begin} ms under ${rounds} rounds of ${HOSTS} posts and ` +
        `${found.reduce((sum, { reads }) => sum + reads, 0)} reads, ${JSON.stringify(redirections)}`,
    );
    expect({ failures: feed.failures, errors: [...feed.errors] }).toEqual({ failures: [], errors: [] });
    expect(found.flatMap(({ errors }) => errors)).toEqual([]);
    expect(await tiers.recovery.loss()).toBeUndefined();
    expect(await feed.check()).toMatchObject({ ...whole, read: rounds * HOSTS * METRICS });
    await flushAll();
    expect(await feed.check()).toMatchObject({ ...whole, read: rounds * HOSTS * METRICS });
  });

  /** Waits until a replica has taken over a slot from a node that no longer answers. */
  const takenOver = (slot: number, node: ClusterNode) =>
    until(
      'a replica to take over',
      () => cluster.ownerOf(slot),
      (owner) => owner !== node,
    );

  test('a primary killed before its replica had everything: the loss is measured, noticed, and read again', async () => {
    const feed = feedFrom(start + 2 * HOUR_MS);
    const [, primary, , , replica] = cluster.nodes as ClusterNode[];
    const held = await hostsOn(primary!);
    const slot = await slotOf(partitionOfHost(held[0]!));
    for (let round = 0; round < 5; round++) await feed.round(hosts, false);
    await until(
      'the replica to have these',
      () => Promise.all([primary!, replica!].map(({ redis }) => redis.info('replication'))),
      ([theirs, its]) => offsetOf(theirs!, 'master_repl_offset') === offsetOf(its!, 'slave_repl_offset'),
    );
    replica!.signal('SIGSTOP');
    // Requests in flight are cut off, too.
    await primary!.redis.call('CLIENT', 'KILL', 'TYPE', 'replica');
    for (let round = 0; round < 5; round++) await feed.round(hosts, false);
    expect(await feed.check()).toMatchObject({ ...whole, read: 10 * HOSTS * METRICS });

    primary!.signal('SIGKILL');
    const killedMs = Date.now();
    replica!.signal('SIGCONT');
    const owner = await takenOver(slot, primary!);
    expect(owner).toBe(replica);
    // These samples were appended and acknowledged, and are lost. A read must not answer as if they had never
    // been posted.
    const after = await feed.check();
    // If a correction was lost, reads return the value that it should replace.
    const wrong = CORRECTED_AFTER * held.length * METRICS;
    expect(after).toMatchObject({ lost: 5 * held.length * METRICS, doubled: 0, wrong });
    const source = sourceOf.host(held[0]!);
    const known = await tiers.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
    const range = { fromMs: start + 2 * HOUR_MS, toMs: start + 3 * HOUR_MS };
    await expect(
      readSeries(tiers, tenant, { source, series: [metricOf(source, 'm0')], known }, range),
    ).rejects.toThrow(IncompleteReadError);

    await feed.round(hosts, true);
    const loss = (await tiers.recovery.loss())!;
    expect(loss).toMatchObject({ isOpen: true });
    const again = await feed.replay();
    console.log(
      `primary killed: its replica took over in ${Date.now() - killedMs} ms; ${after.lost} acknowledged samples were missing ` +
        `until ${again} of ${feed.records.length} records were read again; ${feed.failures.length} deliveries failed`,
    );
    expect(await feed.check()).toMatchObject({ ...whole, read: 11 * HOSTS * METRICS });
    await flushAll();
    expect(await feed.check()).toMatchObject({ ...whole, read: 11 * HOSTS * METRICS });
  });

  test('a primary that hangs: each call ends, and clients find the replica that took over', async () => {
    const feed = feedFrom(start + 3 * HOUR_MS);
    const primary = cluster.nodes[2]!;
    const held = await hostsOn(primary);
    const slot = await slotOf(partitionOfHost(held[0]!));
    await feed.round(hosts, false);
    primary.signal('SIGSTOP');
    const begin = Date.now();
    const outcomes = await Promise.allSettled(
      held.map((host) => tiers.hot.marks.read(partitionOfHost(host))),
    );
    await takenOver(slot, primary);
    await feed.round(hosts, true);
    console.log(
      `primary stopped: ${outcomes.filter(({ status }) => status === 'rejected').length} of ${outcomes.length} calls failed at once, ` +
        `${feed.failures.length} deliveries; well again after ${Date.now() - begin} ms`,
    );
    primary.signal('SIGCONT');
    await until(
      'the old primary to be a replica',
      () => primary.redis.info('replication'),
      (text) => /role:slave/.test(text),
    );
    await feed.round(hosts, true);
    if ((await tiers.recovery.loss())!.isOpen) await feed.replay();
    expect(await feed.check()).toMatchObject({ ...whole, read: 3 * HOSTS * METRICS });
  });
});

/** Counts redirections of clients, by kind. */
async function redirectionsOf(nodes: readonly ClusterNode[]) {
  const count = { MOVED: 0, ASK: 0, TRYAGAIN: 0 };
  for (const { redis } of nodes) {
    const stats = await redis.info('errorstats');
    for (const error of Object.keys(count) as (keyof typeof count)[])
      count[error] += Number(new RegExp(`errorstat_${error}:count=(\\d+)`).exec(stats)?.[1] ?? 0);
  }
  return count;
}

function offsetOf(replication: string, field: string): number {
  return Number(new RegExp(`${field}:(\\d+)`).exec(replication)?.[1] ?? Number.NaN);
}
