import { type ClusterNode, type LocalCluster, startCluster } from '../../scripts/local/cluster';
import { flushPartition } from '../../shared/flush/execute';
import { connectHot } from '../../shared/hot/connection';
import { HotTier } from '../../shared/hot/hot-tier';
import { ingestBatch } from '../../shared/ingest/ingest';
import { metricOf, sourceOf } from '../../shared/model/labels';
import { type PartitionRef, partitionOf, sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import { MAX_CALL_MS } from '../../shared/platform/call-time';
import { mapLimited } from '../../shared/platform/concurrency';
import { HotKeys } from '../../shared/platform/keys';
import { rowsOf } from '../../shared/protocol/mackerel/json';
import { IncompleteReadError } from '../../shared/query/incomplete';
import { readSeries } from '../../shared/query/read';
import type { DeliveredRecord } from '../../shared/stream/delivered';
import { rowRecords } from '../../shared/stream/row-records';
import { temporaryDir } from '../support/temporary-dir';
import { startTiers, type Tiers } from '../support/tiers';
import { until } from '../support/until';

const HOUR_MS = 3_600_000;
const PARTITIONS = 24;
const HOSTS = 48;
const METRICS = 5;
/** A sample is corrected so many rounds after its own, s. */
const CORRECTED_AFTER = 2;
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
const quarantine = {
  put: async () => {
    throw new Error('nothing here is poison');
  },
};

/**
 * The stream, and the ingester as its event source mapping would call it: a record that fails is delivered again. Knows
 * every value that was appended.
 */
class Feed {
  readonly records: (DeliveredRecord & { readonly host: string; readonly at: number })[] = [];
  /** Host -> second -> whether it was appended. */
  private readonly appended = new Map<string, Set<number>>();
  /** When a delivery failed, ms. */
  readonly failures: number[] = [];
  readonly errors = new Set<string>();
  private second = 0;

  constructor(
    private readonly tiers: Tiers,
    private readonly startMs: number,
  ) {}

  /**
   * One post of each host, one second later than the last, which also corrects an earlier one; comes back when all are
   * appended. Arrival times do not ascend.
   */
  async round(hosts: readonly string[], mayFail: boolean): Promise<void> {
    const at = this.second++;
    const timestamp = this.startMs + at * 1000;
    const fresh = hosts.map((host, h) => {
      const points = new Map([[timestamp, new Map(names.map((name, m) => [name, sampleOf(host, at, m)]))]]);
      if (this.appended.get(host)?.has(at - CORRECTED_AFTER))
        points.set(
          timestamp - CORRECTED_AFTER * 1000,
          new Map(names.map((name, m) => [name, -sampleOf(host, at - CORRECTED_AFTER, m)])),
        );
      const [record] = rowRecords(tenant, [[sourceOf.host(host), rowsOf(sourceOf.host(host), points)]]);
      const sequenceNumber = String(this.records.length + h);
      const arrivalMs = Date.now() - 7_000 * (at % 3);
      return { host, at, data: record!.data, sequenceNumber, arrivalMs, shardId: 's' };
    });
    this.records.push(...fresh);
    for (let left = fresh; left.length > 0; ) {
      const failed = new Set(await this.deliver(left, false));
      if (failed.size > 0) {
        if (!mayFail) throw new Error(`appends failed: ${[...this.errors]}`);
        this.failures.push(Date.now());
      }
      left = left.filter(({ sequenceNumber }) => failed.has(sequenceNumber));
    }
    for (const host of hosts) this.appended.set(host, (this.appended.get(host) ?? new Set()).add(at));
  }

  async deliver(records: readonly DeliveredRecord[], isReplay: boolean): Promise<readonly string[]> {
    const { failed, errors } = await ingestBatch(
      { ...this.tiers, quarantine, windowMs: HOUR_MS, isReplay },
      records,
    );
    for (const error of errors) this.errors.add(String((error.cause as Error | undefined)?.message ?? error));
    return failed;
  }

  /** Reads again the records that arrived since the open loss, as recovery and replayer do. */
  async replay(): Promise<number> {
    const loss = (await this.tiers.recovery.loss())!;
    const again = this.records.filter(({ arrivalMs }) => arrivalMs >= loss.fromMs);
    expect(await this.deliver(again, true)).toEqual([]);
    await this.tiers.recovery.closeLoss(loss);
    return again.length;
  }

  /** Counts the samples of a host that were appended before it is read, and are not read. @throws when a read is incomplete */
  async lostOf(host: string): Promise<number> {
    const { tiers, startMs } = this;
    const before = [...(this.appended.get(host) ?? [])];
    const source = sourceOf.host(host);
    const known = await tiers.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
    const range = { fromMs: startMs, toMs: startMs + HOUR_MS };
    const { block } = await readSeries(tiers, tenant, source, [metricOf(source, 'm0')], range, known);
    const seen = new Set(Array.from(block.timestamps, (ms) => (ms - startMs) / 1000));
    return before.filter((at) => !seen.has(at)).length;
  }

  /** Compares what was appended with what is read, over all tiers. */
  async check(): Promise<{ lost: number; doubled: number; wrong: number; read: number }> {
    const { tiers, startMs } = this;
    let [lost, doubled, wrong, read] = [0, 0, 0, 0];
    await mapLimited([...this.appended], 8, async ([host, appended]) => {
      const source = sourceOf.host(host);
      const known = await tiers.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
      const series = names.map((name) => metricOf(source, name));
      const range = { fromMs: startMs, toMs: startMs + HOUR_MS };
      const { block } = await readSeries(tiers, tenant, source, series, range, known, true);
      for (const [m, { rows, values }] of block.columns.entries()) {
        const seen = new Set<number>();
        for (const [i, value] of Array.from(values).entries()) {
          const at = (block.timestamps[rows === undefined ? i : rows[i]!]! - startMs) / 1000;
          if (seen.has(at)) doubled++;
          const isCorrected = appended.has(at) && appended.has(at + CORRECTED_AFTER);
          if (value !== (isCorrected ? -1 : 1) * sampleOf(host, at, m)) wrong++;
          seen.add(at);
          read++;
        }
        for (const at of appended) if (!seen.has(at)) lost++;
      }
    });
    return { lost, doubled, wrong, read };
  }
}

const sampleOf = (host: string, at: number, metric: number) =>
  Number(host.slice(4)) * 1e6 + at * 10 + metric / 7;
const whole = { lost: 0, doubled: 0, wrong: 0 };

describe('a hot tier of three primaries, each with a replica', () => {
  let cluster: LocalCluster;
  let tiers: Tiers;
  const hosts = Array.from({ length: HOSTS }, (_, h) => `host${h}`);
  const start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - HOUR_MS;

  beforeAll(async () => {
    cluster = await startCluster(temporaryDir());
    tiers = await startTiers(cluster.url);
    await tiers.tenants.create(tenant.name, PARTITIONS);
    // As the flusher's rounds do.
    await tiers.losses.observe();
  }, 120_000);

  afterAll(async () => {
    await tiers?.stop();
    await cluster?.stop();
  }, 60_000);

  const partitionOfHost = (host: string) =>
    partitions[partitionOf(sourceIdOf(tenant.id, sourceOf.host(host)), PARTITIONS)]!;
  const slotOf = async (ref: PartitionRef) =>
    Number(await cluster.nodes.at(-1)!.redis.call('CLUSTER', 'KEYSLOT', new HotKeys(ref).tag));

  /** The hosts whose partitions a node has. */
  async function hostsOn(node: ClusterNode): Promise<string[]> {
    const owners = await Promise.all(
      hosts.map(async (host) => cluster.ownerOf(await slotOf(partitionOfHost(host)))),
    );
    return hosts.filter((_, h) => owners[h] === node);
  }

  async function flushAll(): Promise<number> {
    let windows = 0;
    const before = await tiers.hot.now();
    await mapLimited(partitions, 8, async (ref) => {
      await tiers.losses.resolve(ref);
      const moved = await flushPartition({ ...tiers, windowMs: HOUR_MS }, ref, before, () => true);
      expect(moved.failures).toEqual([]);
      windows += moved.windows;
    });
    return windows;
  }

  test('takes appends, leases, trims and reads of partitions on every node, one slot each', async () => {
    const feed = new Feed(tiers, start);
    for (let round = 0; round < 5; round++) await feed.round(hosts, false);
    for (const node of cluster.nodes.slice(0, 3)) {
      expect(await node.redis.dbsize()).toBeGreaterThan(0);
      expect((await hostsOn(node)).length).toBeGreaterThan(0);
    }
    expect(await tiers.hot.fullness()).toBe(0);
    expect(await feed.check()).toMatchObject({ ...whole, read: 5 * HOSTS * METRICS });
    expect(await flushAll()).toBe(HOSTS);
    const owners = await Promise.all(partitions.map(async (ref) => cluster.ownerOf(await slotOf(ref))));
    expect(new Set(owners).size).toBe(3);
    const empty = { oldestMs: undefined, dueMs: undefined, lowestArrivalMs: undefined };
    expect(await tiers.hot.survey(partitions, true)).toEqual(partitions.map(() => empty));
    for (const ref of partitions) expect((await tiers.hot.due(ref, Infinity)).count).toBe(0);
    expect(await feed.check()).toMatchObject({ ...whole, read: 5 * HOSTS * METRICS });
  }, 60_000);

  test('a client that has just started knows the time and the nodes', async () => {
    const hot = new HotTier(connectHot(cluster.url), HOUR_MS);
    expect(Math.abs((await hot.now()) - Date.now())).toBeLessThan(60_000);
    expect(await hot.fullness()).toBe(0);
    const { text, isMoving } = await hot.topology();
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
    const erased = await hot.eraseTenant(tenantId, () => true);
    await hot.close();
    expect(erased).toEqual({ keys: keys.length, isDone: true });
  });

  test('that cannot be reached is an error within the time of a call', async () => {
    const client = connectHot('redis://127.0.0.1:1?cluster=true');
    const hot = new HotTier(client, HOUR_MS);
    const begin = Date.now();
    await expect(hot.inspect(partitions[0]!)).rejects.toThrow('timed out');
    expect(Date.now() - begin).toBeLessThan(MAX_CALL_MS);
    client.disconnect();
  }, 60_000);

  /** Reads hosts one after the other until `isOver`, as the query function does; each read is complete, or an error. */
  async function readOn(feed: Feed, isOver: () => boolean): Promise<{ reads: number; errors: string[] }> {
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
    const feed = new Feed(tiers, start + HOUR_MS);
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
        await tiers.losses.observe();
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    })();
    const begin = Date.now();
    // Round the cluster, and home again.
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
  }, 120_000);

  /** Waits until a replica of the node, which does not answer any more, has taken its slots over. */
  const takenOver = (slot: number, node: ClusterNode) =>
    until(
      'a replica to take over',
      () => cluster.ownerOf(slot),
      (owner) => owner !== node,
      30_000,
    );

  test('a primary killed before its replica had everything: the loss is measured, noticed, and read again', async () => {
    const feed = new Feed(tiers, start + 2 * HOUR_MS);
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
    // Requests on the way are cut off too.
    await primary!.redis.call('CLIENT', 'KILL', 'TYPE', 'replica');
    for (let round = 0; round < 5; round++) await feed.round(hosts, false);
    expect(await feed.check()).toMatchObject({ ...whole, read: 10 * HOSTS * METRICS });

    primary!.signal('SIGKILL');
    const killedMs = Date.now();
    replica!.signal('SIGCONT');
    const owner = await takenOver(slot, primary!);
    expect(owner).toBe(replica);
    // Appended, acknowledged, and not there: what nobody may take for a gap in the data.
    const after = await feed.check();
    // Where a correction is lost, the value before it is read.
    const wrong = CORRECTED_AFTER * held.length * METRICS;
    expect(after).toMatchObject({ lost: 5 * held.length * METRICS, doubled: 0, wrong });
    const source = sourceOf.host(held[0]!);
    const known = await tiers.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
    const range = { fromMs: start + 2 * HOUR_MS, toMs: start + 3 * HOUR_MS };
    await expect(readSeries(tiers, tenant, source, [metricOf(source, 'm0')], range, known)).rejects.toThrow(
      IncompleteReadError,
    );

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
  }, 120_000);

  test('a primary that hangs: each call ends within its time, and clients find the replica that took over', async () => {
    const feed = new Feed(tiers, start + 3 * HOUR_MS);
    const primary = cluster.nodes[2]!;
    const held = await hostsOn(primary);
    const slot = await slotOf(partitionOfHost(held[0]!));
    await feed.round(hosts, false);
    primary.signal('SIGSTOP');
    const begin = Date.now();
    const outcomes = await Promise.allSettled(held.map((host) => tiers.hot.inspect(partitionOfHost(host))));
    expect(Date.now() - begin).toBeLessThan(MAX_CALL_MS);
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
      30_000,
    );
    await feed.round(hosts, true);
    if ((await tiers.recovery.loss())!.isOpen) await feed.replay();
    expect(await feed.check()).toMatchObject({ ...whole, read: 3 * HOSTS * METRICS });
  }, 120_000);
});

/** How often nodes sent a client elsewhere. */
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
