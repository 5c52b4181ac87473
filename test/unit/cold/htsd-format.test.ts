import fc from 'fast-check';
import { type Block, CorruptChunkError, sampleCount } from '../../../shared/codec';
import { type ArchiveReader, type ByteRange, CorruptArchiveError } from '../../../shared/cold/archive-format';
import { HTSD_FORMAT } from '../../../shared/cold/htsd-format';
import { gather } from '../../../shared/model/block-layout';
import { metricOf, sourceOf } from '../../../shared/model/labels';
import { type Layout, layoutOf } from '../../../shared/model/layout';

const host = sourceOf.host('h');
const [cpu, memory] = ['cpu', 'memory'].map((name) => layoutOf([metricOf(host, name)])) as [Layout, Layout];
const both = layoutOf(['cpu', 'memory'].map((name) => metricOf(host, name)));

/** One sample of every series of a layout at each time. */
function blockOf(layout: Layout, times: readonly number[]): Block {
  const frames = times.map((timestamp) => ({
    kind: 'samples' as const,
    layout: layout.idBytes,
    timestamp,
    version: { arrivalMs: timestamp, sequence: 1n },
    values: new Uint8Array(Float64Array.from(layout.series, (_, i) => timestamp + i).buffer),
  }));
  return gather(layout, [layout], frames);
}

async function write(groups: Readonly<Record<string, readonly { layout: Layout; times: number[] }[]>>) {
  const parts: Uint8Array[] = [];
  const writer = HTSD_FORMAT.writer(async (part) => {
    parts.push(part);
  });
  for (const [group, blocks] of Object.entries(groups))
    await writer.addGroup(
      group,
      blocks.map(({ layout, times }) => ({ layout, block: blockOf(layout, times) })),
    );
  await writer.finish(new Map([['g1#0#0', 'revision']]));
  return Buffer.concat(parts);
}

async function open(object: Buffer): Promise<{ reader: ArchiveReader; fetched: ByteRange[] }> {
  const fetched: ByteRange[] = [];
  const slice = async ({ offset, length }: ByteRange) => {
    fetched.push({ offset, length });
    return object.subarray(offset, offset + length);
  };
  const reader = await HTSD_FORMAT.open({ key: 'k', byteLength: object.length, slice });
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
  const range = { fromMs: 0, toMs: 100 };
  const none = new Map();
  const known = new Map([both, cpu, memory].map((layout) => [layout.id, layout]));

  test.each([
    {
      name: 'a group is read by its chunks and the layouts that nobody knows yet',
      selection: { groups: ['g1'], range, wanted: cpu, layouts: none },
      reads: ['g1 10-20: 2 ranges', 'g1 30-30: 2 ranges'],
    },
    {
      name: 'a layout that is known is not fetched',
      selection: { groups: ['g1'], range, wanted: cpu, layouts: known },
      reads: ['g1 10-20: 1 ranges', 'g1 30-30: 1 ranges'],
    },
    {
      name: 'a chunk that begins where the range ends is not read',
      selection: { groups: ['g1'], range: { fromMs: 0, toMs: 30 }, wanted: cpu, layouts: known },
      reads: ['g1 10-20: 1 ranges'],
    },
    {
      name: 'a chunk whose last sample is the first of the range is read',
      selection: { groups: ['g1'], range: { fromMs: 20, toMs: 25 }, wanted: cpu, layouts: known },
      reads: ['g1 10-20: 1 ranges'],
    },
    {
      name: 'groups that are not in the object cost nothing',
      selection: { groups: ['g0', 'g3'], range, wanted: cpu, layouts: known },
      reads: [],
    },
  ])('$name', async ({ selection, reads }) => {
    const { reader, fetched } = await open(await write(OBJECT));
    const planned = reader.plan(selection);
    expect(
      planned.map(
        ({ chunk, ranges }) =>
          `${chunk.group} ${chunk.minTimestamp}-${chunk.maxTimestamp}: ${ranges.length} ranges`,
      ),
    ).toEqual(reads);
    // A plan reads nothing, and a read nothing but what was planned.
    expect(fetched).toEqual([]);
    for (const one of planned) await reader.read(one);
    expect(fetched).toEqual(planned.flatMap(({ ranges }) => ranges));
  });

  test('gives back what was written, series by series, and says where it lay', async () => {
    const { reader } = await open(await write(OBJECT));
    const [first, second] = reader.plan({ groups: ['g1'], range, wanted: cpu, layouts: none });
    expect(await reader.read(first!)).toMatchObject({
      place: `k @ 8 + ${first!.chunk.length}`,
      bytes: first!.chunk.length,
      samples: 4,
      block: { timestamps: Float64Array.of(10, 20), columns: [{ values: Float64Array.of(10, 20) }] },
    });
    expect((await reader.read(second!))!.block.timestamps).toEqual(Float64Array.of(30));
    // A chunk of the group that lacks the series gives no block.
    const [, lacking] = reader.plan({ groups: ['g1'], range, wanted: memory, layouts: none });
    expect(await reader.read(lacking!)).toBeUndefined();
    expect(reader.warm).toEqual({ 'g1#0#0': 'revision' });
  });

  test('takes stored chunks of another object over, byte for byte', async () => {
    const { reader } = await open(await write(OBJECT));
    const parts: Uint8Array[] = [];
    const writer = HTSD_FORMAT.writer(async (part) => {
      parts.push(part);
    });
    await writer.addGroup('g2', [await reader.load(reader.chunks[2]!)]);
    await writer.finish(new Map());
    const copy = await open(Buffer.concat(parts));
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
    await expect(reader.verify()).rejects.toThrow(CorruptChunkError);
  });

  test('whose footer or index is altered or cut off is refused', async () => {
    const object = await write(OBJECT);
    const { reader } = await open(object);
    const last = Math.max(...reader.chunks.map(({ offset, length }) => offset + length));
    const layoutBytes = both.bytes.length + cpu.bytes.length + memory.bytes.length;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: last + layoutBytes, max: object.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        async (at, flip) => {
          const altered = Buffer.from(object);
          altered[at]! ^= flip;
          await expect(open(altered)).rejects.toThrow(CorruptArchiveError);
          await expect(open(object.subarray(0, at))).rejects.toThrow(CorruptArchiveError);
        },
      ),
    );
  });
});
