import { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import { flushLane } from '../../shared/flush/lane';
import { HotKeys, windowMember } from '../../shared/hot/hot-keys';
import { ingestBatch } from '../../shared/ingest/ingest';
import { idOf, idText } from '../../shared/model/id';
import { sourceOf } from '../../shared/model/labels';
import { groupIdOf, type PartitionRef, sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import { mapLimited } from '../../shared/platform/concurrency';
import { metaKeys } from '../../shared/platform/keys';
import { insertItems } from '../../shared/platform/table';
import { rowsOf } from '../../shared/protocol/mackerel/json';
import { rowRecords } from '../../shared/stream/row-records';
import { UsageTable } from '../../shared/tenancy/usage-table';
import { delayShare } from '../support/delay-share';
import { startTiers, type Tiers } from '../support/tiers';

const HOUR_MS = 3_600_000;
const TENANTS = 1_500;
const LAG_MS = 10_000;
const quarantine = {
  put: async () => {
    throw new Error('nothing here is poison');
  },
};
const idle: PartitionRef[] = Array.from({ length: TENANTS }, (_, t) => ({
  tenantId: tenantIdOf(`idle${t}`),
  partition: 0,
}));

describe(`a flusher's lane among ${TENANTS} tenants`, () => {
  let tiers: Tiers;
  let arrivals = 0;

  beforeAll(async () => {
    tiers = await startTiers();
    await insertItems(tiers.meta, idle.map(metaKeys.knownPartition));
    await mapLimited(idle, 64, async (ref) => {
      await tiers.hot.marks.takeOver(ref, await tiers.hot.marks.read(ref));
    });
  });

  afterAll(async () => {
    await tiers?.stop();
  });

  /** Flushes the windows whose first write was `residencyMs` ago or earlier. */
  async function run(residencyMs = HOUR_MS) {
    const nowMs = await tiers.hot.nodes.now();
    const dependencies = { ...tiers, usage: new UsageTable(tiers.meta), windowMs: HOUR_MS };
    const sum = await flushLane(dependencies, {
      lane: 0,
      lanes: 1,
      dueBeforeMs: nowMs - residencyMs,
      flushDelayMs: 0,
      watermarkMs: nowMs - LAG_MS,
      startAt: 0,
      hasTime: () => true,
      onFailure: (_, error) => {
        throw error;
      },
    });
    return { ...sum, nowMs };
  }

  async function post(tenant: string) {
    const placed = {
      id: tenantIdOf(tenant),
      name: tenant,
      placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
    };
    const source = sourceOf.host('h');
    const at = Math.floor(Date.now() / 60_000) * 60_000;
    const [record] = rowRecords(placed, [
      rowsOf(new SeriesDictionary(placed.id), source, new Map([[at, new Map([['m', 1]])]])),
    ]);
    const sequenceNumber = String(++arrivals);
    const { errors } = await ingestBatch({ ...tiers, quarantine, windowMs: HOUR_MS, isReplay: false }, [
      { data: record!.data, sequenceNumber, arrivalMs: Date.now() - LAG_MS / 2, shardId: 's' },
    ]);
    if (errors[0] !== undefined) throw errors[0].cause;
    expect(await tiers.catalogue.source(placed.id, sourceIdOf(placed.id, source))).toBeDefined();
  }

  /** Number of scripts that the store ran, and of requests to AWS. */
  async function requests(): Promise<number> {
    const stats = await tiers.redis.info('commandstats');
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0) + tiers.calls();
  }

  test('a run takes a few requests', async () => {
    const before = await requests();
    const { nowMs, remaining, failed, lowestArrivalMs } = await run();
    expect(await requests()).toBeLessThanOrEqual(before + 20);
    expect({ remaining, failed }).toEqual({ remaining: 0, failed: 0 });
    expect(lowestArrivalMs).toBeGreaterThanOrEqual(nowMs - 2 * LAG_MS);
  });

  test('a new partition is flushed once it is due, and bounds the watermark before', async () => {
    await post('new');
    const partition = { tenantId: tenantIdOf('new'), partition: 0 };
    const mark = await tiers.hot.marks.read(partition);
    const arrivedMs = mark.state === 'good' ? (mark.lowestArrivalMs ?? 0) : 0;
    expect((await run()).lowestArrivalMs).toBeLessThanOrEqual(arrivedMs);
    expect((await tiers.hot.mover.due(partition, Number.MAX_SAFE_INTEGER)).count).toBe(1);
    expect(await run(0)).toMatchObject({ windows: 1, samples: 1, remaining: 0 });
  });

  test('group-windows wait for their delays, by the scripts as by delayShare', async () => {
    const ref = { tenantId: tenantIdOf('spread'), partition: 0 };
    const { due, mark, leases } = new HotKeys(ref);
    const flushDelayMs = 1_000_000;
    // More windows than a page of the lease script has.
    const windows = Array.from({ length: 1_100 }, (_, i) => ({
      group: groupIdOf(idOf('group', String(i)), 0, 0),
      windowStart: 0,
      frames: [new Uint8Array(40)],
    }));
    await tiers.hot.marks.takeOver(ref, await tiers.hot.marks.read(ref));
    const fromMs = await tiers.hot.nodes.now();
    const idBytes = new Uint8Array(16);
    const layout = { id: idText(idBytes), idBytes, seriesCount: 1, packed: new Uint8Array(1) };
    await tiers.hot.appender.append(ref, { arrivalMs: 1, layouts: new Map([[layout.id, layout]]), windows });
    const beforeMs = (await tiers.hot.nodes.now()) + flushDelayMs / 2;
    const scores = await tiers.redis.zrange(due, '0', '-1', 'WITHSCORES');
    const shares = windows.map(({ group }) => Number(scores[scores.indexOf(windowMember(group, 0)) + 1]) % 1);
    shares.forEach((share, i) => {
      expect(share).toBeCloseTo(delayShare(due, i), 3);
    });

    const [look] = await tiers.hot.marks.survey([ref], flushDelayMs);
    expect(look!.oldestMs).toBeGreaterThanOrEqual(fromMs);
    expect(look!.dueMs).toBeGreaterThanOrEqual(look!.oldestMs!);
    expect(look!.dueMs).toBeLessThan(beforeMs);
    const leased = new Set(
      (await tiers.hot.mover.lease(ref, beforeMs, 2_000, 1, flushDelayMs)).map(({ group }) => group),
    );
    windows.forEach(({ group }, i) => {
      // A first write lies anywhere within the append's time, so windows near the limit may be leased or not.
      if (Math.abs(shares[i]! - 0.5) > 0.1) expect(leased.has(group)).toBe(shares[i]! < 0.5);
    });
    expect((await tiers.hot.mover.due(ref, beforeMs)).count).toBe(1_100);
    await tiers.redis.del(due, mark, leases, new HotKeys(ref).arrived);
  });

  test('nothing is flushed for a deleted tenant', async () => {
    const tenant = await tiers.tenants.create('leaving', 1);
    await post('leaving');
    await tiers.tenants.markDeleted(tenant.name);
    const { windows, remaining, lowestArrivalMs } = await run(0);
    expect({ windows, remaining }).toEqual({ windows: 0, remaining: 0 });
    // Data of the tenant that remains in memory does not hold back the lane's watermark.
    expect(lowestArrivalMs).toBeGreaterThan(0);
    await tiers.recovery.unregister({ tenantId: tenant.id, partition: 0 });
  });

  test('a run after a failover notices every partition that lost its primary', async () => {
    await run();
    // Give the node a new replication id, as a failover does.
    await tiers.redis.call('REPLICAOF', '127.0.0.1', '1');
    await tiers.redis.call('REPLICAOF', 'NO', 'ONE');
    await run();
    expect(await tiers.recovery.loss()).toMatchObject({ isOpen: true, notices: 1 });
    expect(await tiers.hot.marks.survey(idle)).not.toContain(undefined);
    await tiers.recovery.closeLoss((await tiers.recovery.loss())!);
  });

  test('a run notices that a primary was emptied', async () => {
    await run();
    await tiers.redis.flushall();
    await run();
    expect(await tiers.recovery.loss()).toMatchObject({ isOpen: true });
  });
});
