/** Arbitrary frames and blocks, and a comparison of them bit by bit. */
import * as fc from 'fast-check';
import {
  type Block,
  blockFromFrames,
  type Frame,
  type PositionedFrame,
  type Tombstone,
  type Version,
} from '../../../shared/codec';

export const LAYOUT = Uint8Array.from({ length: 16 }, (_, i) => 0xa0 + i);

/**
 * The whole contents of a block, with values as hexadecimal bits: the payloads of NaNs and the signs of zeros count.
 */
export function bitwise(block: Block) {
  return {
    layout: Buffer.from(block.layout).toString('hex'),
    timestamps: Array.from(block.timestamps),
    versions: block.versions.map(({ arrivalMs, sequence }) => `${arrivalMs}/${sequence}`),
    rowVersions: Array.from(block.rowVersions),
    columns: block.columns.map(({ rows, values, versions }) => ({
      rows: rows && Array.from(rows),
      values: hexOf(values),
      versions: versions && Array.from(versions),
    })),
  };
}

export function hexOf(values: Float64Array): string[] {
  const view = new DataView(values.buffer, values.byteOffset, values.byteLength);
  return Array.from(values, (_, i) =>
    view
      .getBigUint64(8 * i, true)
      .toString(16)
      .padStart(16, '0'),
  );
}

/** The 8 little-endian bytes of each value. */
export function bytesOf(values: readonly number[] | BigUint64Array): Uint8Array {
  const typed = values instanceof BigUint64Array ? values : Float64Array.from(values);
  return new Uint8Array(typed.buffer, typed.byteOffset, typed.byteLength);
}

const special = [
  0n,
  0x8000000000000000n, // -0
  0x7ff0000000000002n, // Prometheus' stale marker, a signalling NaN
  0x7ff8000000000001n,
  0xfff0000000000000n,
  0x7ff0000000000000n,
  1n,
  0x800fffffffffffffn,
  0x4049ec49ba5e3540n, // 51.846000000000004
];

export const anyBits = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc.constantFrom(...special),
  fc.double().map((value) => new BigUint64Array(Float64Array.of(value).buffer)[0]!),
  fc
    .integer({ min: -1000, max: 100_000 })
    .map((n) => new BigUint64Array(Float64Array.of(n / 100).buffer)[0]!),
);

export const anyVersion: fc.Arbitrary<Version> = fc.record({
  arrivalMs: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 2 ** 48 - 1 })),
  sequence: fc.oneof(fc.bigInt({ min: 0n, max: 3n }), fc.bigInt({ min: 0n, max: 2n ** 448n - 1n })),
});

/** Few distinct versions, so that equal ones occur. */
const fewVersions: fc.Arbitrary<Version> = fc.record({
  arrivalMs: fc.integer({ min: 0, max: 2 }),
  sequence: fc.constantFrom(0n, 1n, 2n ** 185n + 3n),
});

const anyTimestamp = fc.oneof(
  fc.integer({ min: -3, max: 9 }),
  fc.integer({ min: 0, max: 5 }).map((i) => 1_700_000_000_000 + 60_000 * i),
  fc.maxSafeInteger(),
);

/** Frames of a block of `seriesCount` columns, which collide in time, version and series. */
export function anyFrames(seriesCount: number): fc.Arbitrary<PositionedFrame[]> {
  const positions = fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.subarray([...Array(seriesCount).keys()]).map((p) => Uint32Array.from(p)) },
  );
  const samples = fc.tuple(positions, anyTimestamp, fewVersions).chain(([place, timestamp, version]) =>
    fc
      .array(anyBits, { minLength: place?.length ?? seriesCount, maxLength: place?.length ?? seriesCount })
      .map((bits): PositionedFrame => {
        const values = bytesOf(BigUint64Array.from(bits));
        const frame: Frame = { layout: LAYOUT, timestamp, version, values };
        return { frame, ...(place ? { positions: place } : {}) };
      }),
  );
  return fc.array(samples, { maxLength: 14 });
}

/** Erasures of a block of `seriesCount` columns, which collide with {@link anyFrames} and with each other. */
export function anyTombstones(seriesCount: number): fc.Arbitrary<Tombstone[]> {
  const tombstone = fc.tuple(fc.nat(seriesCount - 1), anyTimestamp, anyTimestamp, fewVersions).map(
    ([series, a, b, version]): Tombstone => ({
      series,
      fromMs: Math.min(a, b),
      toMs: Math.max(a, b),
      version,
    }),
  );
  return fc.array(tombstone, { maxLength: 5 });
}

export function anyBlock(seriesCount: number): fc.Arbitrary<Block> {
  return anyFrames(seriesCount).map((frames) => blockFromFrames(LAYOUT, seriesCount, frames));
}
