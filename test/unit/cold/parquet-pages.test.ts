import { constants, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { decodeValues, encodeTimestamps, encodeValues } from '../../../shared/cold/parquet-pages';

const compressed = (bytes: Uint8Array) =>
  zstdCompressSync(bytes, {
    params: { [constants.ZSTD_c_compressionLevel]: 6 },
    pledgedSrcSize: bytes.length,
  });

const anyBits = fc.uint8Array({ minLength: 8, maxLength: 8 });

test('a page of one value has the frame that zstd makes of it, and comes back bit for bit', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        anyBits,
        fc.constantFrom(0, 255).map((byte) => new Uint8Array(8).fill(byte)),
      ),
      (bits) => {
        const page = encodeValues(new Float64Array(Uint8Array.from(bits).buffer)).bytes;
        const frame = compressed(bits);
        expect(Buffer.compare(page.subarray(-frame.length), frame)).toBe(0);
        const [values] = decodeValues([{ page, count: 1 }]);
        expect(new Uint8Array(values!.buffer, values!.byteOffset, 8)).toEqual(bits);
      },
    ),
  );
});

test('a page of no timestamp has the frame that zstd makes of it', () => {
  const { bytes } = encodeTimestamps(new Float64Array(0), false);
  const empty = compressed(Uint8Array.of(128, 1, 4, 0, 0));
  expect(Buffer.compare(bytes.subarray(-empty.length), empty)).toBe(0);
});
