import { crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Id } from '../model/id';
import type { GroupId } from '../model/placement';

/**
 * The object of one partition-day: chunks, group after group, the layouts that name their series, an index, and
 * a footer by which a reader finds the index. A read takes the index, then only the ranges it needs.
 *
 *     'HTSDARC1'  8 bytes
 *     chunks and layouts, one after the other
 *     index       zstd of JSON, see {@link ArchiveIndex}
 *     footer      uint64 offset of the index, uint32 its length, uint32 CRC-32 of the index, 'HTSDARC1'
 *
 * Integers are little-endian. Chunks bear their own checksums; layouts are checked against their ids.
 */
export interface ArchiveIndex {
  /** In order of group, then time. */
  readonly chunks: readonly ArchivedChunk[];
  readonly layouts: readonly ArchivedLayout[];
  /** What of the warm tier the object holds: sort key -> revision. */
  readonly warm: Readonly<Record<string, string>>;
}

export interface ArchivedChunk {
  readonly group: GroupId;
  readonly layout: Id;
  readonly offset: number;
  readonly length: number;
  /** ms since epoch, both included. */
  readonly minTimestamp: number;
  readonly maxTimestamp: number;
  readonly samples: number;
}

export interface ArchivedLayout {
  readonly id: Id;
  readonly offset: number;
  readonly length: number;
}

/** Bytes that are not a whole object of a format this release reads. */
export class CorruptArchiveError extends Error {
  override readonly name = 'CorruptArchiveError';
}

const MAGIC = Buffer.from('HTSDARC1');
export const FOOTER_BYTES = 24;
const MAX_INDEX_BYTES = 256 * 1024 * 1024;

export interface ArchiveContent {
  readonly chunks: readonly (Omit<ArchivedChunk, 'offset' | 'length'> & { readonly bytes: Uint8Array })[];
  readonly layouts: ReadonlyMap<Id, Uint8Array>;
  readonly warm: ReadonlyMap<string, string>;
}

export function encodeArchive({ chunks, layouts, warm }: ArchiveContent): Buffer {
  const pieces: Uint8Array[] = [MAGIC];
  let end = MAGIC.length;
  const place = (bytes: Uint8Array) => {
    pieces.push(bytes);
    end += bytes.length;
    return { offset: end - bytes.length, length: bytes.length };
  };
  const index: ArchiveIndex = {
    chunks: chunks.map(({ bytes, ...chunk }) => ({ ...chunk, ...place(bytes) })),
    layouts: [...layouts].map(([id, bytes]) => ({ id, ...place(bytes) })),
    warm: Object.fromEntries(warm),
  };
  const packed = zstdCompressSync(Buffer.from(JSON.stringify(index)));
  const { offset, length } = place(packed);
  const footer = Buffer.alloc(FOOTER_BYTES);
  footer.writeBigUInt64LE(BigInt(offset), 0);
  footer.writeUInt32LE(length, 8);
  footer.writeUInt32LE(crc32(packed), 12);
  MAGIC.copy(footer, 16);
  return Buffer.concat([...pieces, footer]);
}

/**
 * Where the index is.
 *
 * @param footer the object's last {@link FOOTER_BYTES}
 * @param objectBytes length of the whole object
 * @throws {CorruptArchiveError}
 */
export function locateIndex(
  footer: Uint8Array,
  objectBytes: number,
): { offset: number; length: number; crc: number } {
  const bytes = Buffer.from(footer.buffer, footer.byteOffset, footer.length);
  if (bytes.length !== FOOTER_BYTES || !MAGIC.equals(bytes.subarray(16)))
    throw new CorruptArchiveError(`the last ${bytes.length} bytes are not the footer of an archive`);
  const offset = Number(bytes.readBigUInt64LE(0));
  const length = bytes.readUInt32LE(8);
  if (offset + length + FOOTER_BYTES !== objectBytes)
    throw new CorruptArchiveError(`index of ${length} bytes at ${offset} in an object of ${objectBytes}`);
  return { offset, length, crc: bytes.readUInt32LE(12) };
}

/** @throws {CorruptArchiveError} */
export function decodeIndex(packed: Uint8Array, crc: number): ArchiveIndex {
  if (crc32(packed) !== crc) throw new CorruptArchiveError(`checksum of an index of ${packed.length} bytes`);
  try {
    const text = zstdDecompressSync(packed, { maxOutputLength: MAX_INDEX_BYTES }).toString('utf8');
    return JSON.parse(text) as ArchiveIndex;
  } catch (cause) {
    throw new CorruptArchiveError(`index of ${packed.length} bytes`, { cause });
  }
}
