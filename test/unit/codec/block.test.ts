import * as fc from 'fast-check';
import {
  applyTombstones,
  type Block,
  blockFromFrames,
  CorruptChunkError,
  compareVersions,
  cutBlock,
  type Frame,
  joinBlocks,
  LEFT_OUT,
  mergeBlocks,
  type PositionedFrame,
  presenceOf,
  relayout,
  sliceBlock,
  type Tombstone,
} from '../../../shared/codec';
import { anyBlock, anyFrames, anyTombstones, bitwise, bytesOf, hexOf, LAYOUT } from './arbitraries';

const SERIES = 3;
const v = (arrivalMs: number, sequence = 0n) => ({ arrivalMs, sequence });
const samples = (timestamp: number, arrivalMs: number, ...values: number[]): PositionedFrame => ({
  frame: { layout: LAYOUT, timestamp, version: v(arrivalMs), values: bytesOf(values) },
});
const tombstone = (series: number, fromMs: number, toMs: number, arrivalMs: number): Tombstone => ({
  series,
  fromMs,
  toMs,
  version: v(arrivalMs),
});
const only = (placed: PositionedFrame, ...columns: number[]): PositionedFrame => ({
  ...placed,
  positions: Uint32Array.from(columns),
});
const gather = (...frames: PositionedFrame[]) => blockFromFrames(LAYOUT, 2, frames);

/** Applies rule 2 (DESIGN.md) to one sample at a time. The fast code must give the same block. */
function byTheLetter(
  seriesCount: number,
  frames: readonly PositionedFrame[],
  tombstones: readonly Tombstone[] = [],
): string[] {
  const cells = new Map<string, { ms: number; series: number; version: Frame['version']; bits: bigint }>();
  for (const { frame, positions } of frames) {
    const view = new DataView(frame.values.buffer, frame.values.byteOffset);
    for (let i = 0; i < (positions?.length ?? seriesCount); i++) {
      const series = positions?.[i] ?? i;
      const bits = view.getBigUint64(8 * i, true);
      const held = cells.get(`${series}@${frame.timestamp}`);
      const order = held === undefined ? 1 : compareVersions(frame.version, held.version);
      if (held !== undefined && (order < 0 || (order === 0 && bits <= held.bits))) continue;
      const ms = frame.timestamp;
      cells.set(`${series}@${ms}`, { ms, series, version: frame.version, bits });
    }
  }
  for (const { series, fromMs, toMs, version } of tombstones)
    for (const [key, cell] of cells) {
      const isCovered = cell.series === series && fromMs <= cell.ms && cell.ms < toMs;
      if (isCovered && compareVersions(cell.version, version) < 0) cells.delete(key);
    }
  return [...cells]
    .map(([key, { version, bits }]) => line(key, version, bits.toString(16).padStart(16, '0')))
    .sort();
}

const line = (key: string, { arrivalMs, sequence }: Frame['version'], bits: string) =>
  `${key} ${arrivalMs}/${sequence} ${bits}`;

function cellsOf(block: Block): string[] {
  return block.columns
    .flatMap(({ rows, values, versions }, series) =>
      hexOf(values).map((bits, i) => {
        const row = rows?.[i] ?? i;
        const version = block.versions[versions?.[i] ?? block.rowVersions[row]!]!;
        return line(`${series}@${block.timestamps[row]}`, version, bits);
      }),
    )
    .sort();
}

describe('versions', () => {
  test('decide by sequence number, whatever the arrival times say, and by these only between equal numbers', () => {
    expect(compareVersions(v(9, 2n), v(10, 1n))).toBeGreaterThan(0);
    expect(compareVersions(v(10, 1n), v(9, 1n))).toBeGreaterThan(0);
    expect(compareVersions(v(10, 1n), v(10, 1n))).toBe(0);
  });
});

describe('a block from frames', () => {
  test('has a row for each time, a column for each series, and one version a post', () => {
    const block = gather(samples(60, 61, 1, 2), samples(120, 121, 3, 4));
    expect(bitwise(block)).toEqual({
      ...bitwise(block),
      timestamps: [60, 120],
      versions: ['61/0', '121/0'],
      rowVersions: [0, 1],
    });
    expect(block.columns.map((column) => [...column.values])).toEqual([
      [1, 3],
      [2, 4],
    ]);
  });

  test('a correction of one series at one time is one cell with a version of its own', () => {
    const posts = [samples(60, 61, 1, 2), samples(120, 121, 3, 4)];
    const block = gather(...posts, only(samples(60, 500, 9), 0));
    expect(block.rowVersions).toEqual(Uint32Array.of(0, 1));
    expect([...block.columns[0]!.values]).toEqual([9, 3]);
    expect(block.columns[0]!.versions).toEqual(Uint32Array.of(2, 1));
    expect(block.columns[1]).toEqual({ values: Float64Array.of(2, 4) });
  });

  test('frames at odd addresses are read all the same', () => {
    const values = new Uint8Array(17).subarray(1);
    values.set(bytesOf([1.5, -2]));
    const frame: Frame = { layout: LAYOUT, timestamp: 1, version: v(1), values };
    expect(gather({ frame }).columns.map((c) => c.values[0])).toEqual([1.5, -2]);
  });

  test.each([
    { name: 'values too few', placed: samples(1, 1, 5), error: CorruptChunkError },
    { name: 'values for other positions', placed: only(samples(1, 1, 5, 6), 0), error: CorruptChunkError },
    { name: 'a position beyond the block', placed: only(samples(1, 1, 5), 2), error: RangeError },
  ])('$name: refused', ({ placed, error }) => {
    expect(() => gather(placed)).toThrow(error);
  });

  test('gives the block that rule 2 asks for', () => {
    fc.assert(
      fc.property(anyFrames(SERIES), (frames) => {
        expect(cellsOf(blockFromFrames(LAYOUT, SERIES, frames))).toEqual(byTheLetter(SERIES, frames));
      }),
      { numRuns: 500 },
    );
  });
});

describe('merging', () => {
  const blocks = anyBlock(SERIES);
  const check = <T>(property: fc.IProperty<T>) => fc.assert(property, { numRuns: 300 });

  test('is commutative', () => {
    check(
      fc.property(blocks, blocks, (a, b) => {
        expect(bitwise(mergeBlocks(a, b))).toEqual(bitwise(mergeBlocks(b, a)));
      }),
    );
  });

  test('is associative', () => {
    check(
      fc.property(blocks, blocks, blocks, (a, b, c) => {
        expect(bitwise(mergeBlocks(mergeBlocks(a, b), c))).toEqual(
          bitwise(mergeBlocks(a, mergeBlocks(b, c))),
        );
      }),
    );
  });

  test('is idempotent, also with a part', () => {
    check(
      fc.property(blocks, blocks, (a, b) => {
        const both = mergeBlocks(a, b);
        expect(bitwise(mergeBlocks(a, a))).toEqual(bitwise(a));
        expect(bitwise(mergeBlocks(both, b))).toEqual(bitwise(both));
      }),
    );
  });

  test('of frames one by one is the block of all frames', () => {
    fc.assert(
      fc.property(anyFrames(SERIES), (frames) => {
        const oneByOne = frames
          .map((frame) => blockFromFrames(LAYOUT, SERIES, [frame]))
          .reduce(mergeBlocks, blockFromFrames(LAYOUT, SERIES, []));
        expect(bitwise(oneByOne)).toEqual(bitwise(blockFromFrames(LAYOUT, SERIES, frames)));
      }),
      { numRuns: 300 },
    );
  });

  test('of consecutive parts is the same as joining them', () => {
    fc.assert(
      fc.property(
        anyBlock(SERIES),
        fc.integer({ min: -4, max: 10 }),
        fc.integer({ min: 0, max: 8 }),
        (block, atMs, lengthMs) => {
          const [before, rest] = cutBlock(block, atMs);
          const parts = [before, ...cutBlock(rest, atMs + lengthMs)].filter(
            ({ timestamps }) => timestamps.length > 0,
          );
          if (parts.length === 0) return;
          expect(bitwise(joinBlocks(parts)!)).toEqual(bitwise(block));
          expect(joinBlocks([...parts, ...parts])).toBeUndefined();
        },
      ),
      { numRuns: 500 },
    );
  });

  test('refuses blocks of different layouts', () => {
    const other = blockFromFrames(new Uint8Array(16), SERIES, []);
    expect(() => mergeBlocks(blockFromFrames(LAYOUT, SERIES, []), other)).toThrow(RangeError);
  });
});

describe('cutting', () => {
  test('halves merge to the whole', () => {
    fc.assert(
      fc.property(anyBlock(SERIES), fc.integer({ min: -4, max: 10 }), (block, atMs) => {
        const [before, after] = cutBlock(block, atMs);
        expect(before.timestamps.every((ms) => ms < atMs)).toBe(true);
        expect(after.timestamps.every((ms) => ms >= atMs)).toBe(true);
        expect(bitwise(mergeBlocks(before, after))).toEqual(bitwise(block));
      }),
      { numRuns: 300 },
    );
  });

  test('a slice is half-open, and keeps the versions that it uses', () => {
    const slice = sliceBlock(gather(samples(1, 50, 1, 1), samples(2, 51, 2, 2), samples(3, 52, 3, 3)), 2, 3);
    expect(slice.timestamps).toEqual(Float64Array.of(2));
    expect(slice.versions).toEqual([v(51)]);
  });
});

describe('another layout', () => {
  test('a block that is moved there and back is unchanged', () => {
    fc.assert(
      fc.property(anyBlock(SERIES), (block) => {
        const there = relayout(block, new Uint8Array(16), 5, Uint32Array.of(4, 0, 2));
        const back = relayout(there, LAYOUT, SERIES, Uint32Array.of(1, LEFT_OUT, 2, LEFT_OUT, 0));
        expect(bitwise(back)).toEqual(bitwise(block));
      }),
    );
  });

  test('a column that is left out also removes its rows and versions', () => {
    const block = gather(only(samples(1, 50, 1), 0), only(samples(2, 51, 2), 1));
    const right = relayout(block, LAYOUT, 1, Uint32Array.of(LEFT_OUT, 0));
    expect(bitwise(right)).toEqual(bitwise(blockFromFrames(LAYOUT, 1, [samples(2, 51, 2)])));
  });

  test.each([[[0, 0]], [[0, 3]], [[0]]])('positions %j are refused', (positions) => {
    const block = gather(samples(1, 1, 1, 2));
    expect(() => relayout(block, LAYOUT, 3, Uint32Array.from(positions))).toThrow(RangeError);
  });
});

describe('erasing samples', () => {
  test('removes older samples of the series and range, and leaves equal, newer and other ones', () => {
    const block = gather(samples(0, 1, 10, 20), samples(5, 1, 11, 21), samples(6, 3, 12, 22));
    const left = applyTombstones(block, [tombstone(1, 5, 7, 3)]);
    expect(left.columns.map(({ values }) => [...values])).toEqual([
      [10, 11, 12],
      [20, 22],
    ]);
  });

  test('by overlapping tombstones uses the highest version at each time', () => {
    const block = gather(samples(0, 1, 1, 1), samples(6, 2, 2, 2), samples(15, 2, 3, 3));
    const left = applyTombstones(block, [
      tombstone(0, 0, 10, 2),
      tombstone(0, 5, 20, 3),
      tombstone(0, 20, 30, 3),
    ]);
    expect(left.columns.map(({ values }) => [...values])).toEqual([[], [1, 2, 3]]);
  });

  test('is rule 2 by the letter, and leaves a canonical block, which merges with anything', () => {
    fc.assert(
      fc.property(anyFrames(SERIES), anyTombstones(SERIES), (frames, tombstones) => {
        const left = applyTombstones(blockFromFrames(LAYOUT, SERIES, frames), tombstones);
        expect(cellsOf(left)).toEqual(byTheLetter(SERIES, frames, tombstones));
        expect(bitwise(mergeBlocks(left, left))).toEqual(bitwise(left));
        expect(bitwise(applyTombstones(left, tombstones))).toEqual(bitwise(left));
      }),
      { numRuns: 500 },
    );
  });

  test('before or after merging gives the same block', () => {
    fc.assert(
      fc.property(anyBlock(SERIES), anyBlock(SERIES), anyTombstones(SERIES), (a, b, tombstones) => {
        const separately = mergeBlocks(applyTombstones(a, tombstones), applyTombstones(b, tombstones));
        expect(bitwise(applyTombstones(mergeBlocks(a, b), tombstones))).toEqual(bitwise(separately));
      }),
    );
  });
});

test('frames of some series of a layout give the block that frames of just those series give', () => {
  const version = { arrivalMs: 1, sequence: 1n };
  const row = fc
    .tuple(fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }), fc.nat(3))
    .filter(([present]) => present.includes(true));
  const positions = Uint32Array.of(6, 0, 3, 2, 5);
  fc.assert(
    fc.property(fc.array(row, { maxLength: 6 }), fc.boolean(), (rows, isPlaced) => {
      const gathered = (isPartial: boolean) =>
        blockFromFrames(
          LAYOUT,
          isPlaced ? 7 : 5,
          rows.map(([present, timestamp], n) => {
            const indexes = present.flatMap((isPresent, i) => (isPresent ? [i] : []));
            const values = bytesOf(indexes.map((i) => i + n / 7));
            const frame = { layout: LAYOUT, timestamp, version, values } as const;
            const columns = Uint32Array.from(indexes, (i) => (isPlaced ? positions[i]! : i));
            return isPartial
              ? {
                  frame: { ...frame, presence: presenceOf(indexes, 5) },
                  positions: isPlaced ? positions : undefined,
                }
              : { frame, positions: columns };
          }),
        );
      expect(bitwise(gathered(true))).toEqual(bitwise(gathered(false)));
    }),
  );
});
