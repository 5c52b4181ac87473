import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { storedZstd } from '../../../scripts/simulate/stored-zstd';

test.each([0, 1, 300, 131_072, 131_073, 400_000])(
  'a real zstd reads %i stored bytes, and the other way',
  (size) => {
    const bytes = Buffer.from(Array.from({ length: size }, (_, i) => (i * 31) & 255));
    const frame = storedZstd.zstdCompressSync(bytes);
    expect(zstdDecompressSync(frame).equals(bytes)).toBe(true);
    expect(storedZstd.zstdDecompressSync(frame).equals(bytes)).toBe(true);
    expect(storedZstd.zstdDecompressSync(zstdCompressSync(bytes)).equals(bytes)).toBe(true);
  },
);

test('more bytes than a reader allows are refused', () => {
  const frame = storedZstd.zstdCompressSync(Buffer.alloc(100));
  expect(() => storedZstd.zstdDecompressSync(frame, { maxOutputLength: 99 })).toThrow();
});
