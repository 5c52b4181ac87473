/** The only functions of Node that the codec calls: zstd and CRC-32. */
import { constants, crc32 as zlibCrc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/**
 * Compresses `bytes` into one zstd frame.
 *
 * @param level zstd's compression level
 */
export function zstdCompress(bytes: Uint8Array, level: number): Uint8Array {
  return zstdCompressSync(bytes, {
    params: { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_contentSizeFlag]: 0 },
    pledgedSrcSize: bytes.length,
  });
}

/**
 * Decompresses a zstd frame.
 *
 * @param maxBytes maximum size of the result, in bytes; never allocates more
 * @throws an error of the platform when `bytes` is not a zstd frame or contains more than `maxBytes`
 */
export function zstdDecompress(bytes: Uint8Array, maxBytes: number): Uint8Array {
  return zstdDecompressSync(bytes, { maxOutputLength: maxBytes });
}

/** Returns the CRC-32 of bytes (ISO 3309, as in gzip), unsigned. */
export function crc32(bytes: Uint8Array): number {
  return zlibCrc32(bytes);
}
