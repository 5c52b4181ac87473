import { rmSync } from 'node:fs';
import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { type Server, startHotServer } from '../../scripts/local/servers';
import {
  type Block,
  CorruptChunkError,
  decodeFrame,
  encodeFrame,
  encodeVersion,
  packPartialFrame,
  packSampleFrame,
  presenceOf,
  sliceBlock,
} from '../../shared/codec';
import { digestFrames } from '../../shared/hot/frame-mover';
import { HotKeys } from '../../shared/hot/hot-keys';
import { HotTier } from '../../shared/hot/hot-tier';
import { readHot } from '../../shared/hot/read';
import { gather } from '../../shared/model/block-layout';
import { metricOf, sourceOf } from '../../shared/model/labels';
import { type Layout, layoutOf, mergeLayouts } from '../../shared/model/layout';
import { pickSeries } from '../../shared/model/layout-block';
import { packLayout } from '../../shared/model/packed-layout';
import { type GroupId, groupIdOf, sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import { IS_LONG } from '../support/long';
import { temporaryDir } from '../support/temporary-dir';
import { anyBits, bytesOf } from '../unit/codec/arbitraries';

const HOUR_MS = 3_600_000;
const tenantId = tenantIdOf('t');
const ref = { tenantId, partition: 3 };
const nowMs = 1_700_000_000_000 - (1_700_000_000_000 % HOUR_MS) + HOUR_MS / 2;
const windowStart = nowMs - (nowMs % HOUR_MS);
const range = { fromMs: windowStart + 60_000, toMs: windowStart + 5 * 60_000 };

interface Group {
  readonly id: GroupId;
  readonly layouts: readonly Layout[];
  readonly wanted: Layout;
  readonly frames: readonly Uint8Array[];
}

const allNumbers = Array.from({ length: 50 }, (_, m) => m);

/** Frames of two layouts in every format. Some have equal times and versions. */
const anyGroup = (i: number): fc.Arbitrary<Group> => {
  const source = sourceOf.host(`host${i}`);
  const named = (from: number, to: number) =>
    layoutOf(Array.from({ length: to - from }, (_, m) => metricOf(source, `m${from + m}`)));
  const layouts = [named(0, 40), named(30, 45)];
  const frame = fc
    .record({
      layout: fc.constantFrom(...layouts),
      minute: fc.integer({ min: 0, max: 6 }),
      sequence: fc.bigInt({ min: 2n ** 184n, max: 2n ** 184n + 2n }),
      form: fc.constantFrom('plain', 'packed', 'packed', 'partial'),
      bits: fc.array(anyBits, { minLength: 40, maxLength: 40 }),
    })
    .map(({ layout, minute, sequence, form, bits }) => {
      const timestamp = windowStart + 60_000 * minute;
      const version = { arrivalMs: timestamp + 100, sequence };
      const size = layout.series.length;
      const values = bytesOf(BigUint64Array.from(bits.slice(0, size)));
      const versionBytes = encodeVersion(version);
      if (form === 'plain') return encodeFrame({ layout: layout.idBytes, timestamp, version, values });
      if (form === 'packed') return packSampleFrame(layout.idBytes, timestamp, versionBytes, values);
      const presence = presenceOf([1, 5], size);
      return packPartialFrame(layout.idBytes, timestamp, versionBytes, presence, values.subarray(0, 16));
    });
  return fc
    .record({
      frames: fc.array(frame, { maxLength: 12 }),
      // If all series are wanted, no columns are picked, and frames are returned whole.
      wanted: fc.oneof(
        { weight: 3, arbitrary: fc.subarray(allNumbers, { minLength: 1, maxLength: 8 }) },
        { weight: 1, arbitrary: fc.constant(allNumbers) },
      ),
    })
    .map(({ frames, wanted }) => ({
      id: groupIdOf(sourceIdOf(tenantId, source), 0, 0),
      layouts,
      wanted: layoutOf(wanted.map((m) => metricOf(source, `m${m}`))),
      frames,
    }));
};

describe('a read of memory', () => {
  let dir: string;
  let server: Server;
  let redis: Redis;
  let hot: HotTier;

  beforeAll(async () => {
    dir = temporaryDir();
    server = await startHotServer(
      dir,
      () => {},
      () => {},
    );
    redis = new Redis({ host: '127.0.0.1', port: server.port });
    hot = new HotTier(new Redis({ host: '127.0.0.1', port: server.port }), 72 * HOUR_MS);
  });

  afterAll(async () => {
    redis?.disconnect();
    await hot?.close();
    await server?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const put = async (groups: readonly Pick<Group, 'id' | 'layouts' | 'frames'>[]) => {
    await redis.flushall();
    await hot.marks.takeOver(ref, await hot.marks.read(ref));
    for (const { id: group, layouts, frames } of groups)
      await hot.appender.append(ref, {
        arrivalMs: nowMs,
        layouts: new Map(layouts.map((layout) => [layout.id, packLayout(layout.bytes)])),
        windows: [{ group, windowStart, frames }],
      });
  };

  const read = ({ id, layouts, wanted }: Omit<Group, 'frames'>, tier = hot, ofRange = range, of = ref) =>
    readHot(
      tier,
      [of],
      { wanted, groups: [id], range: ofRange, layouts: new Map(layouts.map((each) => [each.id, each])) },
      HOUR_MS,
      nowMs,
      async () => layouts[0]!,
    );

  /** The part of a block in the range. Frames outside the range may be returned, too. */
  const plain = (whole: Block | undefined, { fromMs, toMs } = range) => {
    if (whole === undefined) return undefined;
    const block = sliceBlock(whole, fromMs, toMs);
    const { timestamps, versions, rowVersions, columns } = block;
    if (timestamps.length === 0) return undefined;
    return { layout: [...block.layout], timestamps, versions, rowVersions, columns };
  };

  test('gives the wanted columns of whole frames, of several groups in one call', async () => {
    await fc.assert(
      fc.asyncProperty(fc.tuple(anyGroup(0), anyGroup(1), anyGroup(2)), async (groups) => {
        await put(groups);
        const found = await Promise.all(groups.map((group) => read(group)));
        for (const [i, { layouts, wanted, frames }] of groups.entries()) {
          const layout = mergeLayouts(layouts);
          const block = gather(layout, layouts, frames.map(decodeFrame));
          const picked = frames.length === 0 ? undefined : pickSeries({ block, layout }, wanted);
          expect(plain(found[i]!.blocks[0]?.block)).toEqual(plain(picked));
          expect(found[i]!.marks).toEqual([{ ref, state: 'good', loss: '' }]);
          const known = found[i]!.blocks[0];
          if (known === undefined) continue;
          const values = frames
            .map((frame) => decodeFrame(frame))
            .flatMap((frame) => ('values' in frame ? frame.values.length / 8 : []));
          expect(known.bytes).toBe(frames.reduce((sum, { length }) => sum + length, 0));
          expect(known.samples).toBeLessThanOrEqual(values.reduce((sum, count) => sum + count, 0));
        }
      }),
      { numRuns: IS_LONG ? 3_000 : 60 },
    );
  });

  test('finds what a reader without a cache finds, whatever was appended, moved or lost in between', async () => {
    // Short and long ranges, which end now or in the past. Some of them share cached frames.
    const ranges = [
      [0, 5],
      [1, 7],
      [2, 3],
      [0, 30],
      [4, 30],
      [6, 30],
      [-2, 32],
    ].map(([from, to]) => ({ fromMs: windowStart + 60_000 * from!, toMs: windowStart + 60_000 * to! }));
    interface Step {
      readonly kind: 'append' | 'flush' | 'flushSome' | 'lose' | 'read';
      readonly at: number;
      readonly ofRange: (typeof ranges)[number];
    }
    const step: fc.Arbitrary<Step> = fc.record({
      ofRange: fc.constantFrom(...ranges),
      kind: fc.constantFrom<Step['kind']>('append', 'append', 'append', 'read', 'flush', 'flushSome', 'lose'),
      at: fc.integer({ min: 0, max: 11 }),
    });
    const steps = fc.array(step, { minLength: 4, maxLength: 14 });
    await fc.assert(
      fc.asyncProperty(anyGroup(0), steps, async (group, steps) => {
        await put([{ ...group, frames: group.frames.slice(0, 3) }]);
        const { id, layouts, wanted, frames } = group;
        const known = new HotTier(new Redis({ host: '127.0.0.1', port: server.port }), 72 * HOUR_MS);
        const layout = mergeLayouts(layouts);
        const same = async (ofRange = range) => {
          const [found] = (await read(group, known, ofRange)).blocks;
          const stored = await redis.lrangeBuffer(new HotKeys(ref).frames(id, windowStart), 0, -1);
          const block = gather(layout, layouts, stored.map(decodeFrame));
          const picked = stored.length === 0 ? undefined : pickSeries({ block, layout }, wanted);
          expect(plain(found?.block, ofRange)).toEqual(plain(picked, ofRange));
          if (found !== undefined)
            expect(found.bytes).toBe(stored.reduce((sum, { length }) => sum + length, 0));
        };
        try {
          for (const { kind, at, ofRange } of steps) {
            if (kind === 'append' && frames[at] !== undefined)
              await known.appender.append(ref, {
                arrivalMs: nowMs,
                layouts: new Map(layouts.map((each) => [each.id, packLayout(each.bytes)])),
                windows: [{ group: id, windowStart, frames: [frames[at]] }],
              });
            if (kind === 'flush' || kind === 'flushSome') {
              const [lease] = await known.mover.lease(ref, (await known.nodes.now()) + 1, 1, 3_600_000);
              if (lease === undefined) continue;
              const { frames: moving } = await known.mover.frames(ref, id, windowStart);
              const some = kind === 'flush' ? moving : moving.slice(0, 1);
              await known.mover.trim(ref, lease, digestFrames(some, kind === 'flush'));
            }
            if (kind === 'lose') {
              // The node was replaced by an empty one. A due entry without frames would mean that frames
              // expired.
              await redis.flushall();
              await known.marks.mark(ref, await known.marks.read(ref), 'loss');
            }
            await same(ofRange);
          }
          for (const each of ranges) await same(each);
        } finally {
          await known.close();
        }
      }),
      { numRuns: IS_LONG ? 3_000 : 60 },
    );
  });

  test('gets known frames only once', async () => {
    const source = sourceOf.host('known');
    const layout = layoutOf([metricOf(source, 'a'), metricOf(source, 'b'), metricOf(source, 'c')]);
    const frames = Array.from({ length: 200 }, (_, n) =>
      encodeFrame({
        layout: layout.idBytes,
        timestamp: range.fromMs + n,
        version: { arrivalMs: windowStart + n, sequence: BigInt(n) },
        values: bytesOf([n, n, n]),
      }),
    );
    const group = groupIdOf(sourceIdOf(tenantId, source), 0, 0);
    const asked = { id: group, layouts: [layout], wanted: layoutOf([metricOf(source, 'b')]) };
    await put([{ ...asked, frames: frames.slice(0, 199) }]);
    const sent = async () => Number(/total_net_output_bytes:(\d+)/.exec(await redis.info('stats'))![1]);
    const cost = async () => {
      const before = await sent();
      const [block] = (await read(asked)).blocks;
      return { bytes: (await sent()) - before, values: block!.block.columns[0]!.values.length };
    };
    const first = await cost();
    const again = await cost();
    await hot.appender.append(ref, {
      arrivalMs: nowMs,
      layouts: new Map([[layout.id, packLayout(layout.bytes)]]),
      windows: [{ group, windowStart, frames: frames.slice(199) }],
    });
    const more = await cost();
    expect([first.values, again.values, more.values]).toEqual([199, 199, 200]);
    expect(first.bytes - again.bytes).toBeGreaterThan(199 * 20);
    expect(more.bytes - again.bytes).toBeLessThan(1_000);
  });

  /** A host's frames, one every 15 s of the window up to now. */
  const halfHour = (name: string) => {
    const source = sourceOf.host(name);
    const layout = layoutOf([metricOf(source, 'a'), metricOf(source, 'b'), metricOf(source, 'c')]);
    const frames = Array.from({ length: 120 }, (_, n) =>
      encodeFrame({
        layout: layout.idBytes,
        timestamp: windowStart + 15_000 * n,
        version: { arrivalMs: windowStart + 15_000 * n, sequence: BigInt(n) },
        values: bytesOf([n, n, n]),
      }),
    );
    const id = groupIdOf(sourceIdOf(tenantId, source), 0, 0);
    return { id, layout, layouts: [layout], wanted: layout, frames };
  };

  test('of a partition that does not answer fails, and those of other partitions do not', async () => {
    const host = halfHour('answers');
    await put([host]);
    const other = { tenantId, partition: 4 };
    await redis.set(new HotKeys(other).windows(host.id), 'not a set of windows');
    const [answered, failed] = await Promise.allSettled([read(host), read(host, hot, range, other)]);
    expect(answered).toMatchObject({ status: 'fulfilled', value: { blocks: [{}] } });
    expect(failed).toMatchObject({
      status: 'rejected',
      reason: { message: expect.stringMatching('WRONGTYPE') },
    });
  });

  test('reads and decodes whole frames only once, whatever the range', async () => {
    const host = halfHour('short');
    await put([{ ...host, frames: host.frames.slice(0, 118) }]);
    const blockOf = async (minutes: number) => {
      const { blocks } = await read(host, hot, { fromMs: nowMs - 60_000 * minutes, toMs: nowMs });
      return blocks[0]!.block;
    };
    const first = await blockOf(5);
    expect(first.timestamps).toHaveLength(118);
    expect(await blockOf(5)).toBe(first);
    expect(await blockOf(25)).toBe(first);
    await hot.appender.append(ref, {
      arrivalMs: nowMs,
      layouts: new Map([[host.layout.id, packLayout(host.layout.bytes)]]),
      windows: [{ group: host.id, windowStart, frames: host.frames.slice(118) }],
    });
    expect((await blockOf(5)).timestamps).toHaveLength(120);
  });

  test('of more frames than a call may look at takes several calls', async () => {
    const groups = Array.from({ length: 9 }, (_, i): Group => {
      const source = sourceOf.host(`many${i}`);
      const layout = layoutOf(Array.from({ length: 3 }, (_, m) => metricOf(source, `m${m}`)));
      // The first group alone has more frames than a call may look at.
      const frames = Array.from({ length: i === 0 ? 24_001 : 6_000 }, (_, n) =>
        encodeFrame({
          layout: layout.idBytes,
          timestamp: range.fromMs + n,
          version: { arrivalMs: windowStart + n, sequence: BigInt(n) },
          values: bytesOf([i, n, 0.1]),
        }),
      );
      const wanted = layoutOf([metricOf(source, 'm1')]);
      return { id: groupIdOf(sourceIdOf(tenantId, source), 0, 0), layouts: [layout], wanted, frames };
    });
    await put(groups);
    // Load the scripts before the calls are counted.
    await Promise.all([hot.marks.read(ref), read(groups[1]!)]);
    const calls = Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))![1]);
    const found = await Promise.all(groups.map((group) => read(group)));
    for (const [i, { frames }] of groups.entries())
      expect([...found[i]!.blocks[0]!.block.columns[0]!.values]).toEqual([...frames.keys()]);
    const after = Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))![1]);
    // The calls: the large group alone, its mark again, and the other groups four at a time.
    expect(after - calls).toBe(4);
    // Frames are also too many if they are returned whole.
    const wholes = groups.slice(0, 3).map((group) => ({ ...group, wanted: group.layouts[0]! }));
    const whole = await Promise.all(wholes.map((group) => read(group)));
    for (const [i, { frames }] of wholes.entries())
      expect([...whole[i]!.blocks[0]!.block.columns[1]!.values]).toEqual([...frames.keys()]);
  });

  test('of a broken frame fails', async () => {
    const source = sourceOf.host('broken');
    const layout = layoutOf(Array.from({ length: 3 }, (_, m) => metricOf(source, `m${m}`)));
    const id = groupIdOf(sourceIdOf(tenantId, source), 0, 0);
    const version = { arrivalMs: nowMs, sequence: 2n ** 184n };
    const frames = [
      encodeFrame,
      ({ values }: { values: Uint8Array }) =>
        packSampleFrame(layout.idBytes, range.fromMs, encodeVersion(version), values),
    ].map((encode) =>
      encode({
        layout: layout.idBytes,
        timestamp: range.fromMs,
        version,
        values: bytesOf([1, 2, 0.3]),
      }),
    );
    for (const frame of frames)
      for (let length = 33; length < frame.length; length += 3) {
        await put([{ id, layouts: [layout], frames: [frame] }]);
        await redis.lset(new HotKeys(ref).frames(id, windowStart), 0, Buffer.from(frame.subarray(0, length)));
        await expect(
          read({ id, layouts: [layout], wanted: layoutOf([metricOf(source, 'm2')]) }),
        ).rejects.toThrow(CorruptChunkError);
      }
  });
});
