import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { type Block, sampleCount } from '../../../shared/codec';
import { type ByteRange, CorruptArchiveError, isRequested } from '../../../shared/cold/archive-format';
import type { StoredBlock } from '../../../shared/cold/parquet-chunk';
import { type ArchiveReader, openArchiveObject } from '../../../shared/cold/parquet-reader';
import { ArchiveWriter } from '../../../shared/cold/parquet-writer';
import { gather } from '../../../shared/model/block-layout';
import { ALL_TIME } from '../../../shared/model/deletion';
import { metricOf, sourceOf } from '../../../shared/model/labels';
import { type Layout, layoutOf } from '../../../shared/model/layout';
import { type LayoutBlock, pickSeries } from '../../../shared/model/layout-block';
import { anyBlock, bitwise } from '../codec/arbitraries';

const host = sourceOf.host('h');
const [cpu, memory] = ['cpu', 'memory'].map((name) => layoutOf([metricOf(host, name)])) as [Layout, Layout];
const both = layoutOf(['cpu', 'memory'].map((name) => metricOf(host, name)));

/** One sample of every series of a layout at each time. */
function blockOf(layout: Layout, times: readonly number[]): Block {
  const frames = times.map((timestamp) => ({
    layout: layout.idBytes,
    timestamp,
    version: { arrivalMs: timestamp, sequence: 1n },
    values: new Uint8Array(Float64Array.from(layout.series, (_, i) => timestamp + i).buffer),
  }));
  return gather(layout, [layout], frames);
}

const WARM = new Map([['g1#0#0', 'revision']]);

async function writeBlocks(groups: Readonly<Record<string, readonly (LayoutBlock | StoredBlock)[]>>) {
  const parts: Uint8Array[] = [];
  const writer = new ArchiveWriter(async (part) => {
    parts.push(Uint8Array.from(part));
  });
  for (const [group, blocks] of Object.entries(groups)) await writer.addGroup(group, blocks);
  await writer.finish(WARM);
  return Buffer.concat(parts);
}

async function open(object: Buffer): Promise<{ reader: ArchiveReader; fetched: ByteRange[] }> {
  const fetched: ByteRange[] = [];
  const slice = async ({ offset, length }: ByteRange) => {
    fetched.push({ offset, length });
    return object.subarray(offset, offset + length);
  };
  const reader = await openArchiveObject({ key: 'k', byteLength: object.length, slice });
  fetched.length = 0;
  return { reader, fetched };
}

const OBJECT = {
  g1: [
    { layout: both, times: [10, 20] },
    { layout: cpu, times: [30] },
  ],
  g2: [{ layout: memory, times: [10] }],
};

describe('an archive object', () => {
  const write = (groups: Readonly<Record<string, readonly { layout: Layout; times: number[] }[]>>) => {
    const blocks = Object.entries(groups).map(([group, parts]) => [
      group,
      parts.map(({ layout, times }) => ({ layout, block: blockOf(layout, times) })),
    ]);
    return writeBlocks(Object.fromEntries(blocks));
  };
  const range = { fromMs: 0, toMs: 100 };
  const none = new Map();
  const known = new Map([both, cpu, memory].map((layout) => [layout.id, layout]));

  test.each([
    {
      name: 'a group is read by its chunks and the layouts that nobody knows yet',
      selection: { groups: ['g1'], range, wanted: cpu, layouts: none },
      reads: ['g1 10-20: 2 fetched before values', 'g1 30-30: 2 fetched before values'],
    },
    {
      name: 'a layout that is known is not fetched',
      selection: { groups: ['g1'], range, wanted: cpu, layouts: known },
      reads: ['g1 10-20: 1 fetched before values', 'g1 30-30: 1 fetched before values'],
    },
    {
      name: 'a chunk that begins where the range ends is not read',
      selection: { groups: ['g1'], range: { fromMs: 0, toMs: 30 }, wanted: cpu, layouts: known },
      reads: ['g1 10-20: 1 fetched before values'],
    },
    {
      name: 'a chunk whose last sample is the first of the range is read',
      selection: { groups: ['g1'], range: { fromMs: 20, toMs: 25 }, wanted: cpu, layouts: known },
      reads: ['g1 10-20: 1 fetched before values'],
    },
    {
      name: 'groups that are not in the object cost nothing',
      selection: { groups: ['g0', 'g3'], range, wanted: cpu, layouts: known },
      reads: [],
    },
  ])('$name', async ({ selection, reads }) => {
    const { reader, fetched } = await open(await write(OBJECT));
    const requested = reader.chunks.filter((chunk) => isRequested(chunk, selection));
    expect(fetched).toEqual([]);
    const found: string[] = [];
    for (const chunk of requested) {
      fetched.length = 0;
      await reader.read(chunk, selection);
      expect(fetched[0]).toEqual(chunk.directory);
      // The values and the skeleton come last.
      found.push(
        `${chunk.group} ${chunk.minTimestamp}-${chunk.maxTimestamp}: ${fetched.length - 2} fetched before values`,
      );
    }
    expect(found).toEqual(reads);
  });

  test('gives back what was written, series by series, and says where it lay', async () => {
    const { reader } = await open(await write(OBJECT));
    const selection = { groups: ['g1'], range, wanted: cpu, layouts: none };
    const [first, second] = reader.chunks;
    expect(await reader.read(first!, selection)).toMatchObject({
      place: `k @ ${first!.offset} + ${first!.length}`,
      bytes: first!.length,
      samples: 4,
      block: { timestamps: Float64Array.of(10, 20), columns: [{ values: Float64Array.of(10, 20) }] },
    });
    expect((await reader.read(second!, selection))!.block.timestamps).toEqual(Float64Array.of(30));
    // A chunk of the group that lacks the series yields no block.
    expect(await reader.read(second!, { ...selection, wanted: memory })).toBeUndefined();
    expect(await reader.warm()).toEqual({ 'g1#0#0': 'revision' });
  });

  test('gives a whole chunk with one request, since its parts lie near each other', async () => {
    const { reader, fetched } = await open(await write(OBJECT));
    for (const chunk of reader.chunks) await reader.load(chunk);
    expect(fetched).toHaveLength(reader.chunks.length);
  });

  test('takes stored chunks of another object over, byte for byte', async () => {
    const { reader } = await open(await write(OBJECT));
    const copy = await open(await writeBlocks({ g2: [await reader.load(reader.chunks[2]!)] }));
    const [before, after] = [reader.chunks[2]!, copy.reader.chunks[0]!];
    expect(after).toMatchObject({ group: 'g2', layout: memory.id, samples: before.samples });
    expect((await copy.reader.load(after)).bytes).toEqual((await reader.load(before)).bytes);
    expect(sampleCount((await copy.reader.load(after)).decode().block)).toBe(1);
  });

  test('is made of groups in ascending order', async () => {
    await expect(write({ g2: OBJECT.g2, g1: OBJECT.g1 })).rejects.toThrow('group g1 follows g2');
  });

  test('is verified by reading every chunk back', async () => {
    const object = await write(OBJECT);
    const { reader } = await open(object);
    await reader.verify();
    const { offset, length } = reader.chunks[2]!;
    object[offset + length - 1]! ^= 1;
    await expect(reader.verify()).rejects.toThrow(CorruptArchiveError);
  });

  test('has every bit of its samples, their versions and deletions, by whatever series they are read', async () => {
    const layout = layoutOf(['a', 'b', 'c'].map((metric) => metricOf(host, metric)));
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyBlock(3), { minLength: 1, maxLength: 3 }),
        fc.subarray([...layout.series], { minLength: 1 }),
        async (blocks, series) => {
          const whole = blocks.map((block) => ({ layout, block: { ...block, layout: layout.idBytes } }));
          const { reader } = await open(await writeBlocks({ g1: whole }));
          const wanted = layoutOf(series);
          for (const [i, chunk] of reader.chunks.entries()) {
            expect(bitwise((await reader.load(chunk)).decode().block)).toEqual(bitwise(whole[i]!.block));
            const selection = { groups: ['g1'], range: ALL_TIME, wanted, layouts: none };
            const read = await reader.read(chunk, selection);
            const expected = pickSeries(whole[i]!, wanted);
            expect(read && bitwise(read.block)).toEqual(expected && bitwise(expected));
          }
          await reader.verify();
        },
      ),
    );
  });

  test('of version 1 is read as it was written', async () => {
    const file = join(__dirname, '../../golden/archive/day.parquet');
    if (process.env.GOLDEN === 'write' && !existsSync(file)) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, await write(OBJECT));
    }
    const { reader } = await open(readFileSync(file));
    await reader.verify();
    expect(await reader.warm()).toEqual(Object.fromEntries(WARM));
    const found = await Promise.all(
      reader.chunks.map(async (chunk) => [chunk.group, bitwise((await reader.load(chunk)).decode().block)]),
    );
    const written = Object.entries(OBJECT).flatMap(([group, blocks]) =>
      blocks.map(({ layout, times }) => [group, bitwise(blockOf(layout, times))]),
    );
    expect(found).toEqual(written);
  });

  test('that is cut off is refused, and so is one with another last byte', async () => {
    const object = await write(OBJECT);
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: object.length - 1 }), async (at) => {
        await expect(open(object.subarray(0, at))).rejects.toThrow(CorruptArchiveError);
      }),
    );
    object[object.length - 1]! ^= 1;
    await expect(open(object)).rejects.toThrow(CorruptArchiveError);
  });

  test('whose bytes are altered anywhere is refused by its verification', async () => {
    const object = await write(OBJECT);
    const { reader } = await open(object);
    const begin = reader.chunks[0]!.offset;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: begin, max: object.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        async (at, flip) => {
          const altered = Buffer.from(object);
          altered[at]! ^= flip;
          const check = async () => {
            const opened = await open(altered);
            await opened.reader.warm();
            for (const { layout } of opened.reader.chunks) await opened.reader.layout(layout);
            await opened.reader.verify();
          };
          await expect(check()).rejects.toThrow();
        },
      ),
    );
  });
});
