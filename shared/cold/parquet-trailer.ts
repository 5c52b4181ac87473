import { crc32, constants as zlib, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { type ByteRange, CorruptArchiveError, type ObjectBytes } from './archive-format';

export const PARQUET_MAGIC = Buffer.from('PAR1');
const TRAILER_MAGIC = Buffer.from('HTSDPQT1');
const TRAILER_BYTES = 40;
/** Size of the end of a Parquet file, in bytes: four bytes for the footer's length, and four for the magic number. */
export const END_BYTES = 8;
const MAX_INDEX_BYTES = 256 * 1024 * 1024;

/**
 * The trailer of an object. It precedes Parquet's footer and locates our own sections, so that our readers need not
 * decode the footer.
 *
 *     'HTSDPQT1'   8 bytes
 *     uint64       offset of the index, which is zstd of JSON; the warm revisions, also zstd of JSON, follow it
 *     uint32 x 2   bytes of the index, bytes of the warm revisions
 *     uint32 x 4   CRC-32 of the index, of the warm revisions, of Parquet's footer, of the trailer up to here
 */
export interface Trailer {
  readonly index: ByteRange;
  readonly indexCrc: number;
  readonly warm: ByteRange;
  readonly warmCrc: number;
  readonly footer: ByteRange;
  readonly footerCrc: number;
}

export function encodeTrailer(
  offset: number,
  index: Uint8Array,
  warm: Uint8Array,
  footer: Uint8Array,
): Buffer {
  const trailer = Buffer.alloc(TRAILER_BYTES);
  TRAILER_MAGIC.copy(trailer);
  trailer.writeBigUInt64LE(BigInt(offset), 8);
  trailer.writeUInt32LE(index.length, 16);
  trailer.writeUInt32LE(warm.length, 20);
  trailer.writeUInt32LE(crc32(index), 24);
  trailer.writeUInt32LE(crc32(warm), 28);
  trailer.writeUInt32LE(crc32(footer), 32);
  trailer.writeUInt32LE(crc32(trailer.subarray(0, 36)), 36);
  return trailer;
}

/** @throws {CorruptArchiveError} */
export async function readTrailer(object: ObjectBytes): Promise<Trailer> {
  const { key, byteLength } = object;
  const corrupt = (what: string) => new CorruptArchiveError(`${key}, ${byteLength} bytes: ${what}`);
  if (byteLength < END_BYTES + TRAILER_BYTES) throw corrupt('too short for a Parquet archive object');
  const end = Buffer.from(await object.slice({ offset: byteLength - END_BYTES, length: END_BYTES }));
  if (end.length !== END_BYTES || !PARQUET_MAGIC.equals(end.subarray(4)))
    throw corrupt('does not end as Parquet');
  const footer = { offset: byteLength - END_BYTES - end.readUInt32LE(0), length: end.readUInt32LE(0) };
  const offset = footer.offset - TRAILER_BYTES;
  if (offset < 0) throw corrupt(`a footer of ${footer.length} bytes`);
  const trailer = Buffer.from(await object.slice({ offset, length: TRAILER_BYTES }));
  if (trailer.length !== TRAILER_BYTES || !TRAILER_MAGIC.equals(trailer.subarray(0, 8)))
    throw corrupt('Parquet, but not written by this system');
  if (trailer.readUInt32LE(36) !== crc32(trailer.subarray(0, 36)))
    throw corrupt('the checksum of its trailer is wrong');
  const index = { offset: Number(trailer.readBigUInt64LE(8)), length: trailer.readUInt32LE(16) };
  const warm = { offset: index.offset + index.length, length: trailer.readUInt32LE(20) };
  if (warm.offset + warm.length !== offset)
    throw corrupt(`its index of ${index.length} bytes at ${index.offset}`);
  const [indexCrc, warmCrc, footerCrc] = [24, 28, 32].map((at) => trailer.readUInt32LE(at)) as [
    number,
    number,
    number,
  ];
  return { index, indexCrc, warm, warmCrc, footer, footerCrc };
}

/** Encodes an index: zstd of JSON. */
export function pack(content: unknown): Buffer {
  return zstdCompressSync(Buffer.from(JSON.stringify(content)), {
    params: { [zlib.ZSTD_c_compressionLevel]: 3 },
  });
}

/** @throws {CorruptArchiveError} */
export function unpack<T>(packed: Uint8Array, crc: number): T {
  if (crc32(packed) !== crc) throw new CorruptArchiveError(`the checksum of ${packed.length} bytes is wrong`);
  try {
    return JSON.parse(zstdDecompressSync(packed, { maxOutputLength: MAX_INDEX_BYTES }).toString('utf8')) as T;
  } catch (cause) {
    throw new CorruptArchiveError(`an index of ${packed.length} bytes cannot be decoded`, { cause });
  }
}
