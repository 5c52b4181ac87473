import { rmSync } from 'node:fs';
import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { freePort, type Server, startHotServer } from '../../scripts/local/servers';
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
import { HotTier } from '../../shared/hot/hot-tier';
import { readHot } from '../../shared/hot/read';
import { gather } from '../../shared/model/block-layout';
import { metricOf, sourceOf } from '../../shared/model/labels';
import { type Layout, layoutOf, packLayout, unionLayout } from '../../shared/model/layout';
import { pickSeries } from '../../shared/model/layout-block';
import { type GroupId, groupIdOf, sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import { HotKeys } from '../../shared/platform/keys';
import { temporaryDir } from '../support/temporary-dir';
import { anyBits, bytesOf } from '../unit/codec/arbitraries';

jest.setTimeout(60_000);

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

/** Frames of two layouts in every format, in which times and versions meet. */
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
      if (form === 'plain')
        return encodeFrame({ kind: 'samples', layout: layout.idBytes, timestamp, version, values });
      if (form === 'packed') return packSampleFrame(layout.idBytes, timestamp, versionBytes, values);
      const presence = presenceOf([1, 5], size);
      return packPartialFrame(layout.idBytes, timestamp, versionBytes, presence, values.subarray(0, 16));
    });
  return fc
    .record({
      frames: fc.array(frame, { maxLength: 12 }),
      wanted: fc.subarray(
        Array.from({ length: 50 }, (_, m) => m),
        { minLength: 1, maxLength: 8 },
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
      await freePort(),
      () => {},
      () => {},
    );
    redis = new Redis({ host: '127.0.0.1', port: server.port });
    hot = new HotTier(new Redis({ host: '127.0.0.1', port: server.port }), 72 * HOUR_MS);
  }, 60_000);

  afterAll(async () => {
    redis?.disconnect();
    await hot?.close();
    await server?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const put = async (groups: readonly Pick<Group, 'id' | 'layouts' | 'frames'>[]) => {
    await redis.flushall();
    await hot.mark(ref, '');
    for (const { id: group, layouts, frames } of groups)
      await hot.append(ref, {
        arrivalMs: nowMs,
        layouts: new Map(layouts.map((layout) => [layout.id, packLayout(layout.bytes)])),
        windows: [{ group, windowStart, frames }],
      });
  };

  const read = ({ id, layouts, wanted }: Omit<Group, 'frames'>) =>
    readHot(
      hot,
      [ref],
      { wanted, groups: [id], range, layouts: new Map(layouts.map((each) => [each.id, each])) },
      HOUR_MS,
      nowMs,
      async () => layouts[0]!,
    );

  /** The part of a block in the range: frames outside may come too. */
  const plain = (whole: Block | undefined) => {
    if (whole === undefined) return undefined;
    const block = sliceBlock(whole, range.fromMs, range.toMs);
    return block.timestamps.length === 0 ? undefined : { ...block, layout: [...block.layout] };
  };

  test('gives the wanted columns of whole frames, of several groups in one call', async () => {
    await fc.assert(
      fc.asyncProperty(fc.tuple(anyGroup(0), anyGroup(1), anyGroup(2)), async (groups) => {
        await put(groups);
        const found = await Promise.all(groups.map(read));
        for (const [i, { layouts, wanted, frames }] of groups.entries()) {
          const layout = unionLayout(layouts);
          const block = gather(layout, layouts, frames.map(decodeFrame));
          const picked = frames.length === 0 ? undefined : pickSeries({ block, layout }, wanted);
          expect(plain(found[i]!.blocks[0]?.block)).toEqual(plain(picked));
          expect(found[i]!.marks).toEqual([{ ref, isWhole: true, loss: '' }]);
          const known = found[i]!.blocks[0];
          if (known === undefined) continue;
          const values = frames
            .map((frame) => decodeFrame(frame))
            .flatMap((frame) => ('values' in frame ? frame.values.length / 8 : []));
          expect(known.bytes).toBe(frames.reduce((sum, { length }) => sum + length, 0));
          expect(known.samples).toBeLessThanOrEqual(values.reduce((sum, count) => sum + count, 0));
        }
      }),
      { numRuns: Number(process.env.HOT_READS ?? 60) },
    );
  });

  test('of more frames than a call may look at takes several calls', async () => {
    const groups = Array.from({ length: 9 }, (_, i): Group => {
      const source = sourceOf.host(`many${i}`);
      const layout = layoutOf(Array.from({ length: 3 }, (_, m) => metricOf(source, `m${m}`)));
      // The first has more frames by itself than a call may look at.
      const frames = Array.from({ length: i === 0 ? 20_001 : 5_000 }, (_, n) =>
        encodeFrame({
          kind: 'samples',
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
    // Loads the scripts.
    await Promise.all([hot.inspect(ref), read(groups[1]!)]);
    const calls = Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))![1]);
    const found = await Promise.all(groups.map(read));
    for (const [i, { frames }] of groups.entries())
      expect([...found[i]!.blocks[0]!.block.columns[0]!.values]).toEqual([...frames.keys()]);
    const after = Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))![1]);
    // The large one alone, its mark again, and the others four at a time.
    expect(after - calls).toBe(4);
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
        kind: 'samples',
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
