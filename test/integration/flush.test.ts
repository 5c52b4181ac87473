import { DeleteItemCommand } from '@aws-sdk/client-dynamodb';
import { physicalName } from '../../scripts/local/template';
import { archiveDay } from '../../shared/archive/execute';
import { purgeDay } from '../../shared/archive/purge';
import { flushPartition } from '../../shared/flush/execute';
import { flushPartitions, sumFlushes } from '../../shared/flush/partitions';
import { MAX_CHUNK_SERIES } from '../../shared/flush/plan';
import { digestFrames } from '../../shared/hot/frame-mover';
import { ingestBatch } from '../../shared/ingest/ingest';
import { type Labels, metricOf, sourceOf } from '../../shared/model/labels';
import { layoutOf } from '../../shared/model/layout';
import { packLayout } from '../../shared/model/packed-layout';
import {
  dayOf,
  type GroupId,
  groupIdOf,
  partitionOf,
  sourceIdBytesOf,
  sourceIdOf,
  tenantIdOf,
} from '../../shared/model/placement';
import { warmKeys } from '../../shared/platform/keys';
import { readSeries } from '../../shared/query/read-series';
import { encodeRecord } from '../../shared/stream/record';
import { UsageTable } from '../../shared/tenancy/usage-table';
import { MAX_ITEM_CHUNK_BYTES } from '../../shared/warm/warm-tier';
import { ARCHIVE_LIMITS, startTiers, type Tiers } from '../support/tiers';

const HOUR_MS = 3_600_000;
/** Number of names, more than one layout can hold. */
const FLOOD = 9_000;
const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
};
const quarantine = {
  put: async () => {
    throw new Error('nothing here is poison');
  },
};
const ref = { tenantId: tenant.id, partition: 0 };
const start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - HOUR_MS;

describe('moving group-windows', () => {
  let tiers: Tiers;
  let arrivals = 0;

  beforeAll(async () => {
    tiers = await startTiers();
  });

  afterAll(async () => {
    await tiers?.stop();
  });

  /**
   * Posts values of a host, each list at one timestamp. Every call is a record that arrives later than the previous
   * one.
   */
  async function post(
    host: string,
    posts: readonly { at: number; values: Readonly<Record<string, number>> }[],
  ) {
    const source = sourceOf.host(host);
    const groups = posts.map(({ at, values }) => {
      const names = Object.keys(values).sort();
      const layout = layoutOf(names.map((name) => metricOf(source, name)));
      return {
        sourceIdBytes: sourceIdBytesOf(tenant.id, source),
        splitBits: 0,
        splitIndex: 0,
        layout: packLayout(layout.bytes),
        frames: [{ timestamp: at, values: Buffer.from(Float64Array.from(names, (n) => values[n]!).buffer) }],
      };
    });
    const record = { tenant: tenant.name, partition: partitionOf(sourceIdOf(tenant.id, source), 1), groups };
    const version = { arrivalMs: start + arrivals, sequence: BigInt(arrivals++) };
    const { errors } = await ingestBatch({ ...tiers, quarantine, windowMs: HOUR_MS, isReplay: false }, [
      {
        data: encodeRecord(record),
        sequenceNumber: String(version.sequence),
        arrivalMs: version.arrivalMs,
        shardId: 's',
      },
    ]);
    if (errors[0] !== undefined) throw errors[0].cause;
  }

  const flush = async () =>
    flushPartition({ ...tiers, windowMs: HOUR_MS }, ref, await tiers.hot.nodes.now(), () => true);

  async function read(host: string, name: string): Promise<Map<number, number>> {
    const source: Labels = sourceOf.host(host);
    const known = await tiers.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
    const range = { fromMs: start, toMs: start + HOUR_MS };
    const { block } = await readSeries(
      tiers,
      tenant,
      { source, series: [metricOf(source, name)], known },
      range,
    );
    const { rows, values } = block.columns[0]!;
    return new Map(
      Array.from(values, (value, i) => [
        (block.timestamps[rows === undefined ? i : rows[i]!]! - start) / 1000,
        value,
      ]),
    );
  }

  const leaseOf = async (host: string) => {
    const leases = await tiers.hot.mover.lease(ref, await tiers.hot.nodes.now(), 100, 3_600_000);
    const group = groupIdOf(sourceIdOf(tenant.id, sourceOf.host(host)), 0, 0);
    return { lease: leases.find((lease) => lease.group === group)!, group };
  };

  test('a trim removes what was read, and keeps what came after', async () => {
    await post('after', [{ at: start, values: { a: 1 } }]);
    const { lease, group } = await leaseOf('after');
    const { frames } = await tiers.hot.mover.frames(ref, group, start);
    await post('after', [{ at: start + 60_000, values: { a: 2 } }]);
    expect(await tiers.hot.mover.trim(ref, lease, digestFrames(frames, true))).toBe(1);
    expect((await tiers.hot.mover.frames(ref, group, start)).frames).toHaveLength(1);
    expect((await tiers.hot.mover.due(ref, Number.MAX_SAFE_INTEGER)).count).toBe(1);
    expect((await flush()).windows).toBe(1);
    expect((await tiers.hot.mover.due(ref, Number.MAX_SAFE_INTEGER)).count).toBe(0);
  });

  test('a trim that comes twice, as after a lost reply, removes once', async () => {
    await post('twice', [{ at: start, values: { a: 1 } }]);
    const { lease, group } = await leaseOf('twice');
    const { frames } = await tiers.hot.mover.frames(ref, group, start);
    expect(await tiers.hot.mover.trim(ref, lease, digestFrames(frames, true))).toBe(0);
    await post('twice', [{ at: start + 1000, values: { a: 2 } }]);
    expect(await tiers.hot.mover.trim(ref, lease, digestFrames(frames, true))).toBeUndefined();
    expect((await tiers.hot.mover.frames(ref, group, start)).frames).toHaveLength(1);
    await flush();
  });

  test('a trim whose lease another has taken over does nothing', async () => {
    await post('expired', [{ at: start, values: { a: 1 } }]);
    const [expired] = await tiers.hot.mover.lease(ref, await tiers.hot.nodes.now(), 1, 0);
    const [taken] = await tiers.hot.mover.lease(ref, await tiers.hot.nodes.now(), 1, 3_600_000);
    const { frames } = await tiers.hot.mover.frames(ref, expired!.group, start);
    expect(taken!.group).toBe(expired!.group);
    expect(await tiers.hot.mover.trim(ref, expired!, digestFrames(frames, true))).toBeUndefined();
    expect(await tiers.hot.mover.lease(ref, await tiers.hot.nodes.now(), 1, 3_600_000)).toEqual([]);
    expect(await tiers.hot.mover.trim(ref, taken!, digestFrames(frames, true))).toBe(0);
  });

  test('a trim does nothing if the list does not begin with the moved frames, whatever their count', async () => {
    await post('failover', [
      { at: start, values: { a: 1 } },
      { at: start + 1000, values: { a: 2 } },
    ]);
    const { lease, group } = await leaseOf('failover');
    const { frames } = await tiers.hot.mover.frames(ref, group, start);
    // Leave the state that a lagging replica has after a failover and the next append.
    const key = tiers.hot.space.keyOf(ref, group, start);
    await tiers.redis.rpop(key);
    await post('failover', [{ at: start + 2000, values: { a: 3 } }]);
    expect(await tiers.redis.llen(key)).toBe(frames.length);
    expect(await tiers.hot.mover.trim(ref, lease, digestFrames(frames, true))).toBeUndefined();
    await flush();
    expect([...(await read('failover', 'a'))]).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  test('an append whose layout the store has forgotten brings the layout again', async () => {
    await post('forgotten', [{ at: start, values: { a: 1 } }]);
    await tiers.redis.flushall();
    await post('forgotten', [{ at: start + 1000, values: { a: 2 } }]);
    await expect(read('forgotten', 'a')).rejects.toThrow('may be missing');
    // Close the loss, as if a replay had found nothing.
    await tiers.recovery.closeLoss((await tiers.recovery.loss())!);
    expect([...(await read('forgotten', 'a'))]).toEqual([[1, 2]]);
    await flush();
    expect([...(await read('forgotten', 'a'))]).toEqual([[1, 2]]);
  });

  test('partitions are flushed in parallel, and a partition that fails delays no other', async () => {
    const partitions = Array.from({ length: 20 }, (_, partition) => ({ tenantId: tenant.id, partition }));
    await post('beside', [{ at: start, values: { a: 1 } }]);
    let running = 0;
    let highest = 0;
    const losses = Object.assign(Object.create(tiers.losses) as typeof tiers.losses, {
      resolve: async ({ partition }: { partition: number }) => {
        highest = Math.max(highest, ++running);
        await tiers.hot.nodes.now();
        running--;
        if (partition === 7) throw new Error('its node does not answer');
      },
    });
    const failures: number[] = [];
    const dependencies = {
      ...tiers,
      losses,
      usage: new UsageTable(tiers.meta),
      windowMs: HOUR_MS,
      now: Date.now,
    };
    const sum = sumFlushes(
      await flushPartitions(dependencies, partitions, {
        dueBeforeMs: await tiers.hot.nodes.now(),
        flushDelayMs: 0,
        hasTime: () => true,
        onFailure: ({ partition }) => failures.push(partition),
      }),
    );
    expect(failures).toEqual([7]);
    expect(sum).toMatchObject({ windows: 1, samples: 1, failed: 1, remaining: 1, lowestArrivalMs: 0 });
    expect(highest).toBeGreaterThan(1);
    expect([...(await read('beside', 'a'))]).toEqual([[0, 1]]);
  });

  test('a partition whose memory is wiped while it is flushed counts as not looked at', async () => {
    await post('wiped', [{ at: start, values: { a: 1 } }]);
    const losses = Object.assign(Object.create(tiers.losses) as typeof tiers.losses, {
      resolve: async () => {
        await tiers.losses.resolve(ref);
        await tiers.redis.flushall();
      },
    });
    const { now } = tiers;
    const dependencies = { ...tiers, losses, usage: new UsageTable(tiers.meta), windowMs: HOUR_MS, now };
    const failed: Error[] = [];
    const sum = sumFlushes(
      await flushPartitions(dependencies, [ref], {
        dueBeforeMs: await tiers.hot.nodes.now(),
        flushDelayMs: 0,
        hasTime: () => true,
        onFailure: (_, error) => failed.push(error),
      }),
    );
    expect(failed).toEqual([]);
    expect(sum).toMatchObject({ windows: 0, failed: 0, lowestArrivalMs: 0 });
    await tiers.losses.resolve(ref);
    await tiers.recovery.closeLoss((await tiers.recovery.loss())!);
  });

  describe('frames that expire before a flusher moves them are noticed as a loss', () => {
    const group = groupIdOf(sourceIdOf(tenant.id, sourceOf.host('expired')), 0, 0);
    /** Removes the frames, as the store does once a day has passed. */
    const expire = async () =>
      expect(await tiers.redis.unlink(tiers.hot.space.keyOf(ref, group, start))).toBe(1);
    const flushAll = async () =>
      sumFlushes(
        await flushPartitions({ ...tiers, usage: new UsageTable(tiers.meta), windowMs: HOUR_MS }, [ref], {
          dueBeforeMs: await tiers.hot.nodes.now(),
          flushDelayMs: 0,
          hasTime: () => true,
          onFailure: (_, error) => {
            throw error;
          },
        }),
      );
    const expectLoss = async () => {
      const loss = (await tiers.recovery.loss())!;
      expect(loss).toMatchObject({ isOpen: true, reason: expect.stringContaining('samples of 1 expired') });
      // A gap is always reported.
      await expect(read('expired', 'a')).rejects.toThrow();
      await tiers.recovery.closeLoss(loss);
      expect([...(await read('expired', 'b'))]).toEqual([[0, 7]]);
    };

    test('by the flusher that finds them gone', async () => {
      await post('expired', [{ at: start, values: { b: 7 } }]);
      await flushAll();
      await post('expired', [{ at: start, values: { a: 1 } }]);
      await expire();
      expect(await flushAll()).toMatchObject({ windows: 0, expired: 1, remaining: 0 });
      await expectLoss();
      expect(await flushAll()).toMatchObject({ expired: 0 });
    });

    test('by the append that comes first', async () => {
      await post('expired', [{ at: start, values: { a: 1 } }]);
      await expire();
      await post('expired', [{ at: start + 1_000, values: { a: 2 } }]);
      await expect(read('expired', 'a')).rejects.toThrow();
      expect(await flushAll()).toMatchObject({ windows: 1, expired: 0 });
      await expectLoss();
      expect([...(await read('expired', 'a'))]).toEqual([[1, 2]]);
    });
  });

  /** Reads the window of some groups as a read of many groups does. Eight of its groups have no samples. */
  async function readTogether(groups: readonly GroupId[]) {
    const others = Array.from({ length: 8 }, (_, i) =>
      groupIdOf(sourceIdOf(tenant.id, sourceOf.host(`no${i}`)), 0, 0),
    );
    const asked = [...groups, ...others].map((group) =>
      tiers.warm.groupTogether(ref, dayOf(start), {
        group,
        windowsFromMs: start,
        windowsToMs: start + HOUR_MS,
        windowLengthsMs: [HOUR_MS],
        limit: (work) => work(),
      }),
    );
    const found = (await Promise.all(asked)).map((items) => items.map(({ isDivided, ...item }) => item));
    expect(found.slice(groups.length)).toEqual(others.map(() => []));
    return found.slice(0, groups.length);
  }

  const readEach = (groups: readonly GroupId[]) =>
    Promise.all(groups.map((group) => tiers.warm.group(ref, dayOf(start), group, start, start + HOUR_MS)));

  test('the windows of many groups are read by one request', async () => {
    const hosts = Array.from({ length: 10 }, (_, i) => `many${i}`);
    for (const host of hosts) await post(host, [{ at: start, values: { a: 1 } }]);
    await flush();
    const groups = hosts.map((host) => groupIdOf(sourceIdOf(tenant.id, sourceOf.host(host)), 0, 0));
    const each = await readEach(groups);
    expect(each.map((items) => items.length)).toEqual(hosts.map(() => 1));
    const calls: number[] = [];
    for (let times = 0; times < 8; times++) {
      const before = tiers.calls();
      expect(await readTogether(groups)).toEqual(each);
      calls.push(tiers.calls() - before);
    }
    // A query that stops early takes additional requests.
    expect(Math.min(...calls)).toBe(1);
  });

  test('a window of more frames than are read at once, and larger than an item, moves whole, in parts', async () => {
    // Bits that nothing compresses: 2,500 posts of 40 series are 800 kB.
    const noise = Array.from({ length: 2500 }, (_, i) => ({
      at: start + i * 1000,
      values: Object.fromEntries(Array.from({ length: 40 }, (_, m) => [`m${m}`, Math.sin(i * 40 + m) * 1e9])),
    }));
    for (let i = 0; i < noise.length; i += 500) await post('large', noise.slice(i, i + 500));
    const { windows, failures } = await flush();
    expect(failures).toEqual([]);
    expect(windows).toBe(2);
    const group = groupIdOf(sourceIdOf(tenant.id, sourceOf.host('large')), 0, 0);
    const parts = await tiers.warm.window(ref, dayOf(start), group, start);
    expect(parts.length).toBeGreaterThan(1);
    for (const { chunk } of parts) expect(chunk.length).toBeLessThanOrEqual(MAX_ITEM_CHUNK_BYTES);
    const expected = new Map(noise.map(({ values }, i) => [i, values.m7!]));
    expect(await read('large', 'm7')).toEqual(expected);

    expect(await readTogether([group])).toEqual([parts]);
    // The first part has the attribute `divided`, for the sake of a read that looked for the day's marker before the
    // marker was written.
    const Key = warmKeys.divided(ref, dayOf(start));
    await tiers.meta.client.send(new DeleteItemCommand({ TableName: physicalName('Warm'), Key }));
    expect(await readTogether([group])).toEqual([parts]);

    // Late data for one of the parts leaves the other parts unchanged.
    await post('large', [
      { at: start + 5000, values: { m7: -1 } },
      { at: start + 500, values: { m7: 0.5 } },
    ]);
    await flush();
    const later = await tiers.warm.window(ref, dayOf(start), group, start);
    const unchanged = later.filter(({ revision }) => parts.some((part) => part.revision === revision));
    expect(unchanged.length).toBeGreaterThanOrEqual(later.length - 1);
    expected.set(5, -1).set(0.5, 0.5);
    expect(new Map([...(await read('large', 'm7'))].sort(([a], [b]) => a - b))).toEqual(
      new Map([...expected].sort(([a], [b]) => a - b)),
    );
  });

  test('a window of more names than one layout may hold moves whole, in layers', async () => {
    const posts = Array.from({ length: 120 }, (_, i) => ({
      at: start + i * 1000,
      values: Object.fromEntries(
        Array.from({ length: 10 }, (_, m) => [`churn.${i}.${m}.`.padEnd(250, 'abcdefghij'), i + m / 7]),
      ),
    }));
    for (const p of posts) await post('churn', [p]);
    const { failures } = await flush();
    expect(failures).toEqual([]);
    expect((await tiers.hot.mover.due(ref, Number.MAX_SAFE_INTEGER)).count).toBe(0);
    const group = groupIdOf(sourceIdOf(tenant.id, sourceOf.host('churn')), 0, 0);
    const layers = (await tiers.warm.window(ref, dayOf(start), group, start)).map(({ layer }) => layer);
    expect(Math.max(...layers)).toBeGreaterThan(0);
    expect(await readTogether([group])).toEqual(await readEach([group]));
    for (const i of [0, 60, 119]) {
      const name = Object.keys(posts[i]!.values)[3]!;
      expect([...(await read('churn', name))]).toEqual([[i, i + 3 / 7]]);
    }
  });

  test('a hot tier that is full takes nothing more, evicts nothing, and can still be flushed', async () => {
    await post('full', [{ at: start, values: { a: 1 } }]);
    await tiers.redis.config('SET', 'maxmemory', '1mb');
    try {
      await expect(post('full', [{ at: start + 1000, values: { a: 2 } }])).rejects.toThrow(/OOM/);
      // At this fullness, the flusher leaves no window in memory, however young.
      expect(await tiers.hot.nodes.fullness()).toBeGreaterThan(0.85);
      expect([...(await read('full', 'a'))]).toEqual([[0, 1]]);
      expect((await flush()).windows).toBe(1);
      expect((await tiers.hot.mover.due(ref, Number.MAX_SAFE_INTEGER)).count).toBe(0);
    } finally {
      await tiers.redis.config('SET', 'maxmemory', '0');
    }
    expect([...(await read('full', 'a'))]).toEqual([[0, 1]]);
  });

  test('a flush between an archiver’s read and its commit leaves the day open, and nothing is purged', async () => {
    await post('race', [{ at: start, values: { a: 1 } }]);
    await flush();
    const day = dayOf(start);
    const entry = (await tiers.manifest.get(ref, day))!;
    // The flush happens when the archiver has read the warm items and is about to write the object.
    const cold = Object.assign(Object.create(tiers.cold) as typeof tiers.cold, {
      begin: (key: string) => {
        const upload = tiers.cold.begin(key);
        const finish = upload.finish.bind(upload);
        return Object.assign(upload, {
          finish: async (...args: Parameters<typeof finish>) => {
            await post('race', [{ at: start + 1000, values: { a: 2 } }]);
            await flush();
            return finish(...args);
          },
        });
      },
    });
    expect(await archiveDay({ ...tiers, cold, now: Date.now }, ref, entry, ARCHIVE_LIMITS)).toBe(true);
    expect(await purgeDay({ ...tiers, now: Date.now }, ref, entry, 0)).toEqual({ items: 0, remains: true });
    expect([...(await read('race', 'a'))]).toEqual([
      [0, 1],
      [1, 2],
    ]);
    expect(await archiveDay({ ...tiers, now: Date.now }, ref, entry, ARCHIVE_LIMITS)).toBe(true);
    expect((await purgeDay({ ...tiers, now: Date.now }, ref, entry, 0)).remains).toBe(false);
    expect([...(await read('race', 'a'))]).toEqual([
      [0, 1],
      [1, 2],
    ]);
  });

  test('an archiver that ended between object and manifest is followed by one that finishes', async () => {
    await post('crash', [{ at: start, values: { a: 1 } }]);
    await flush();
    const day = dayOf(start);
    const entry = (await tiers.manifest.get(ref, day))!;
    const manifest = Object.assign(Object.create(tiers.manifest) as typeof tiers.manifest, {
      commit: async () => {
        throw new Error('killed');
      },
    });
    await expect(
      archiveDay({ ...tiers, manifest, now: Date.now }, ref, entry, ARCHIVE_LIMITS),
    ).rejects.toThrow('killed');
    expect([...(await read('crash', 'a'))]).toEqual([[0, 1]]);
    expect(await archiveDay({ ...tiers, now: Date.now }, ref, entry, ARCHIVE_LIMITS)).toBe(true);
    await purgeDay({ ...tiers, now: Date.now }, ref, entry, 0);
    expect([...(await read('crash', 'a'))]).toEqual([[0, 1]]);
  });

  test('one post of 9,000 names at as many times neither blocks its partition nor its flush', async () => {
    expect(FLOOD).toBeGreaterThan(MAX_CHUNK_SERIES);
    const posts = Array.from({ length: FLOOD }, (_, i) => ({
      at: start + i,
      values: { [`flood.${i}`]: i },
    }));
    await post('flood', posts);
    const { failures } = await flush();
    expect(failures).toEqual([]);
    expect((await tiers.hot.mover.due(ref, Number.MAX_SAFE_INTEGER)).count).toBe(0);
    expect([...(await read('flood', `flood.${FLOOD - 1}`))]).toEqual([[(FLOOD - 1) / 1000, FLOOD - 1]]);
  });

  test('9,000 series at one timestamp, in posts of 256, move in layers that fit', async () => {
    for (let from = 0; from < FLOOD; from += 256)
      await post('wide', [
        {
          at: start,
          values: Object.fromEntries(
            Array.from({ length: Math.min(256, FLOOD - from) }, (_, m) => [
              `w${from + m}`,
              Math.sin(from + m),
            ]),
          ),
        },
      ]);
    const { failures } = await flush();
    expect(failures).toEqual([]);
    expect((await tiers.hot.mover.due(ref, Number.MAX_SAFE_INTEGER)).count).toBe(0);
    const group = groupIdOf(sourceIdOf(tenant.id, sourceOf.host('wide')), 0, 0);
    const layers = (await tiers.warm.window(ref, dayOf(start), group, start)).map(({ layer }) => layer);
    expect(Math.max(...layers)).toBeGreaterThan(0);
    const expected = [[0, Math.sin(FLOOD - 1)]];
    expect([...(await read('wide', `w${FLOOD - 1}`))]).toEqual(expected);
    const entry = (await tiers.manifest.get(ref, dayOf(start)))!;
    expect(await archiveDay({ ...tiers, now: Date.now }, ref, entry, ARCHIVE_LIMITS)).toBe(true);
    expect((await purgeDay({ ...tiers, now: Date.now }, ref, entry, 0)).remains).toBe(false);
    expect([...(await read('wide', `w${FLOOD - 1}`))]).toEqual(expected);
    expect([...(await read('flood', `flood.${FLOOD - 1}`))]).toEqual([[(FLOOD - 1) / 1000, FLOOD - 1]]);
  });
});
