/**
 * The codec's one port: zstd and CRC-32, nothing else of the platform.
 */
import { constants, crc32 as zlibCrc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** One zstd frame of `bytes`, its size in the frame's header. */
export function zstdCompress(bytes: Uint8Array, level: number): Uint8Array {
  return zstdCompressSync(bytes, {
    params: { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_contentSizeFlag]: 0 },
    pledgedSrcSize: bytes.length,
  });
}

/**
 * @param maxBytes what the caller expects; never more is allocated
 * @throws whatever the platform throws when `bytes` is no zstd frame or holds more than `maxBytes`
 */
export function zstdDecompress(bytes: Uint8Array, maxBytes: number): Uint8Array {
  return zstdDecompressSync(bytes, { maxOutputLength: maxBytes });
}

/** CRC-32 (ISO 3309, as in gzip), unsigned. */
export function crc32(bytes: Uint8Array): number {
  return zlibCrc32(bytes);
}
