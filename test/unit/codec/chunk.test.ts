import { crc32, zstdCompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import {
  type Block,
  type Column,
  CorruptChunkError,
  encodeChunk,
  LEFT_OUT,
  openChunk,
  relayout,
  sampleCount,
} from '../../../shared/codec';
import { anyBits, anyBlock, bitwise, bytesOf, LAYOUT } from './arbitraries';
import { exampleBlocks, kinesisVersion, noise } from './example-blocks';

const MINUTE_MS = 60_000;
const START_MS = 1_700_000_040_000;
const sameVersion = { arrivalMs: START_MS, sequence: 0n };

/** A block of complete columns, with one row a minute and one version. */
function blockOf(...columns: (readonly number[] | Float64Array)[]): Block {
  const rows = columns[0]?.length ?? 0;
  return {
    layout: LAYOUT,
    timestamps: Float64Array.from({ length: rows }, (_, i) => START_MS + i * MINUTE_MS),
    versions: rows === 0 ? [] : [sameVersion],
    rowVersions: new Uint32Array(rows),
    columns: columns.map((values): Column => ({ values: Float64Array.from(values) })),
  };
}

const sequence = (length: number, of: (i: number) => number) => Array.from({ length }, (_, i) => of(i));
/** Size of a chunk of these values minus that of a chunk of zeros, in bytes. */
const valueBytes = (values: number[]) =>
  encodeChunk(blockOf(values)).length - encodeChunk(blockOf(values.map(() => 0))).length;

/**
 * Columns that repeat, resemble one another, count, or are noise.
 */
const anyShape: fc.Arbitrary<Block> = fc
  .record({
    rows: fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 400 }), fc.constant(1600)),
    stepMs: fc.constantFrom(1, 64, 256, 1000, 32768, 60_000, 2 ** 32),
    kinds: fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 6 }),
    seed: fc.integer(),
    words: fc.array(anyBits, { minLength: 1, maxLength: 40 }),
  })
  .map(({ rows, stepMs, kinds, seed, words }) => {
    const random = noise(seed);
    const columns: BigUint64Array[] = [];
    const word = (i: number) => words[i % words.length]!;
    const float = (value: number) => new BigUint64Array(Float64Array.of(value).buffer)[0]!;
    for (const kind of kinds) {
      const previous = columns.at(-1);
      columns.push(
        BigUint64Array.from({ length: rows }, (_, i) => {
          if (kind === 0) return word(i);
          if (kind === 1) return word(Math.floor(random() * words.length));
          if (kind === 2) return float(i * 8);
          if (kind === 3) return float(Math.round(random() * 1000) / 10);
          if (kind === 4) return float(random());
          if (kind === 5) return previous?.[(i + 3) % rows] ?? word(0);
          if (kind === 6) return random() < 0.02 ? word(i) : (previous?.[i] ?? 0n);
          if (kind === 7) return BigInt(Math.floor(random() * 2 ** 32)) << 32n;
          return float(((i >> 4) * 7) % 3);
        }),
      );
    }
    const block = blockOf(...columns.map((bits) => new Float64Array(bits.buffer)));
    return {
      ...block,
      timestamps: block.timestamps.map((_, i) => i * stepMs),
      columns: columns.map((bits) => ({ values: new Float64Array(bits.buffer) })),
    };
  });

describe('a chunk', () => {
  test('of anything comes back bit for bit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }).chain((n) => anyBlock(n)),
        (block) => {
          expect(bitwise(openChunk(encodeChunk(block)).block())).toEqual(bitwise(block));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('of any shape comes back, and is no larger than 8 bytes for a value and a row, 64 bytes, and 4 a series', () => {
    fc.assert(
      fc.property(anyShape, (block) => {
        const bytes = encodeChunk(block);
        const decoded = openChunk(bytes).block();
        const isSame = block.columns.every(
          ({ values }, i) =>
            Buffer.compare(bytesOfValues(decoded.columns[i]!.values), bytesOfValues(values)) === 0,
        );
        expect(isSame).toBe(true);
        const { length: rows } = block.timestamps;
        const series = block.columns.length;
        expect(bytes.length).toBeLessThanOrEqual(8 * rows * (series + 1) + 64 + 4 * series);
      }),
      { numRuns: 100 },
    );
  });

  test('gives each series as decoding the whole would', () => {
    fc.assert(
      fc.property(anyBlock(3), (block) => {
        const chunk = openChunk(encodeChunk(block));
        for (let i = 0; i < 3; i++) {
          const only = new Uint32Array(3).fill(LEFT_OUT);
          only[i] = 0;
          expect(bitwise(chunk.series(i))).toEqual(bitwise(relayout(block, block.layout, 1, only)));
        }
      }),
      { numRuns: 300 },
    );
  });

  test('says which series, rows and times it has', () => {
    const block = blockOf([1, 2, 3], [4, 5, 6]);
    const chunk = openChunk(encodeChunk(block));
    expect(chunk).toMatchObject({
      layout: LAYOUT,
      seriesCount: 2,
      sampleCount: 6,
      minTimestamp: START_MS,
      maxTimestamp: START_MS + 2 * MINUTE_MS,
    });
    expect(sampleCount(chunk.block())).toBe(6);
    expect(() => chunk.series(2)).toThrow(RangeError);
    expect(() => chunk.series(0.5)).toThrow(RangeError);
  });

  test('has the same bytes for the same block', () => {
    const block = blockOf([1, 2.5, 3]);
    expect(encodeChunk(block)).toEqual(encodeChunk(block));
  });

  test('is read at any byte offset', () => {
    const bytes = encodeChunk(exampleBlocks['similar-columns']!());
    const moved = new Uint8Array(bytes.length + 3).subarray(3);
    moved.set(bytes);
    expect(bitwise(openChunk(moved).block())).toEqual(bitwise(openChunk(bytes).block()));
  });

  test('gives a series although another series is broken', () => {
    const random = noise(1);
    const block = blockOf(...sequence(3, () => 0).map(() => sequence(60, () => Math.floor(random() * 100))));
    const bytes = encodeChunk(block);
    const whole = openChunk(bytes);
    const expected = [0, 1, 2].map((i) => bitwise(whole.series(i)));
    // Damage the middle column. The three columns are about equally long, and the tail after them is short.
    const middle = Math.floor(bytes.length / 2);
    bytes.fill(0xff, middle - 6, middle + 6);
    new DataView(bytes.buffer).setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)), true);
    const broken = openChunk(bytes);
    expect(bitwise(broken.series(0))).toEqual(expected[0]);
    expect(bitwise(broken.series(2))).toEqual(expected[2]);
  });

  test('of more values than the limit is refused by the encoder', () => {
    const column = { values: new Float64Array(2 ** 23 + 1) };
    expect(() => encodeChunk({ ...blockOf([]), columns: [column, column] })).toThrow(RangeError);
  });
});

const bytesOfValues = (values: Float64Array) =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

describe('what data costs', () => {
  const random = noise(5);
  const HOURS = 24;
  const rows = 60 * HOURS;
  test.each([
    { name: 'a constant', values: sequence(rows, () => 1234.5), bytes: 3 },
    { name: 'a steady counter', values: sequence(rows, (i) => 1e9 + 77 * i), bytes: 16 },
    { name: 'a steadily accelerating one', values: sequence(rows, (i) => 1e6 + i * i), bytes: 20 },
    {
      name: 'one bit of noise',
      values: sequence(rows, () => Math.floor(random() * 2)),
      bytes: rows / 8 + 10,
    },
    {
      name: 'a rare event',
      values: sequence(rows, () => Number(random() < 0.01)),
      bytes: (rows * 0.1) / 8 + 12,
    },
    {
      name: 'ten bits of noise in whole pages',
      values: sequence(rows, () => 4096 * Math.floor(random() * 1024)),
      bytes: (rows * 10.1) / 8 + 20,
    },
    {
      name: 'percentages of two digits',
      values: sequence(rows, () => Math.floor(random() * 10_000) / 100),
      bytes: (rows * 13.4) / 8 + 20,
    },
    {
      name: 'the same computed as products',
      values: sequence(rows, () => Math.floor(random() * 10_000) * 0.01),
      bytes: (rows * 13.4) / 8 + 20,
    },
    {
      name: 'noise of 53 bits',
      values: sequence(rows, () => random() + random() / 2 ** 26),
      bytes: rows * 7.4,
    },
    {
      name: 'single precision',
      values: sequence(rows, () => Math.fround(1 + random())),
      bytes: (rows * 23.5) / 8 + 40,
    },
  ])('$name: at most $bytes bytes', ({ values, bytes }) => {
    expect(valueBytes(values)).toBeLessThanOrEqual(bytes);
  });

  test('one stale marker in decimals: 13 bytes', () => {
    const values = sequence(60, (i) => (i % 10) / 4);
    const stale = blockOf(values);
    bytesOfValues(stale.columns[0]!.values).set(bytesOf(BigUint64Array.of(0x7ff0000000000002n)), 8 * 30);
    expect(encodeChunk(stale).length - encodeChunk(blockOf(values)).length).toBeLessThanOrEqual(13);
  });

  test('versions of live posts, a group of 100 series: a tenth of a byte a point', () => {
    const block = blockOf(...sequence(100, () => 0).map(() => sequence(60, () => random())));
    const versions = sequence(60, (i) => i).map(kinesisVersion);
    const live = { ...block, versions, rowVersions: Uint32Array.from(versions.keys()) };
    expect((encodeChunk(live).length - encodeChunk(block).length) / 6000).toBeLessThanOrEqual(0.1);
  });

  test('a column like another one: an entry in the directory', () => {
    const values = sequence(60, () => random());
    const twice = encodeChunk(blockOf(values, values)).length - encodeChunk(blockOf(values)).length;
    expect(twice).toBeLessThanOrEqual(6);
  });
});

describe('a chunk of hardly any data', () => {
  // 128 columns of 8192 rows, all 0: a million values in a hundred bytes.
  const block = blockOf(...sequence(128, () => 0).map(() => new Float64Array(8192)));
  const bytes = encodeChunk(block);

  test('has a byte for every 8192 values, zeros before the checksum', () => {
    expect(bytes.length).toBe(Math.ceil((128 * 8192 + 16 * (128 + 1)) / 8192));
    expect(bytes.subarray(-8, -4)).toEqual(new Uint8Array(4));
    expect(sampleCount(openChunk(bytes).block())).toBe(128 * 8192);
  });

  test.each([
    { name: 'fewer', altered: (whole: Uint8Array) => whole.slice(0, -1) },
    { name: 'more', altered: (whole: Uint8Array) => Uint8Array.of(...whole, 0) },
    { name: 'others than zeros', altered: (whole: Uint8Array) => whole.slice().fill(1, -6) },
  ])('$name: CorruptChunkError', ({ altered }) => {
    const other = altered(bytes);
    new DataView(other.buffer).setUint32(other.length - 4, crc32(other.subarray(0, -4)), true);
    expect(() => openChunk(other).block()).toThrow(CorruptChunkError);
  });
});

describe('bytes that are no chunk', () => {
  test.each(Object.entries(exampleBlocks))('%s cut off anywhere: CorruptChunkError', (_, make) => {
    const bytes = encodeChunk(make());
    for (let length = 0; length < bytes.length; length++) {
      expect(() => openChunk(bytes.subarray(0, length))).toThrow(CorruptChunkError);
    }
  });

  test.each([
    { name: 'nothing', bytes: new Uint8Array(0) },
    { name: 'text', bytes: new TextEncoder().encode('Hello, this is not a chunk at all, is it?') },
    { name: 'zstd', bytes: zstdCompressSync(Buffer.alloc(1000)) },
    { name: 'zeros', bytes: new Uint8Array(100) },
  ])('$name: CorruptChunkError', ({ bytes }) => {
    expect(() => openChunk(bytes)).toThrow(CorruptChunkError);
  });

  test('a later format', () => {
    const bytes = encodeChunk(blockOf([1]));
    bytes[2] = 0x20;
    expect(() => openChunk(bytes)).toThrow('unknown format');
  });
});
