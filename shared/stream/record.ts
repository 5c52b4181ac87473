import { crc32, constants as zlib, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { isPresenceOf, presenceBytes, presentCount } from '../codec';
import { BoundedCache } from '../model/bounded-cache';
import { ByteReader, ByteWriter, MalformedBytesError } from '../model/bytes';
import type { SourceDeletion } from '../model/deletion';
import { FORMATS, type RecordFormat } from '../model/formats';
import { ID_BYTES, idText } from '../model/id';
import {
  checkLayout,
  layoutIdOf,
  noteChecked,
  type PackedLayout,
  packLayout,
  unpackLayout,
} from '../model/layout';
import { MAX_PARTITIONS } from '../model/placement';

/**
 * A stream record holds all that is needed to rebuild the later tiers (DESIGN.md, rule 6). The stream adds the version.
 *
 *     'H' 'R'  magic
 *     byte     format version, 3 or 4
 *     uint32   CRC-32 of the rest, little-endian
 *     text     tenant name
 *     uvarint  partition
 *     uvarint  number of groups; each:
 *       16 bytes id of the source or its pool, byte split bits, uvarint split index
 *       16 bytes layout id, uvarint length of the packed layout, zstd of the layout's bytes
 *       uvarint  number of frames; each: int64 timestamp, ms; 8 raw bytes for each series of the layout.
 *                In version 4 before the bytes: byte 0; or byte 1 and a presence map (codec/presence.ts), which says
 *                of which series of the layout the 8 bytes are
 *     uvarint number of deletions; each:
 *       16 bytes source id, byte 0 for one name or 1 for a prefix of names, text name or prefix
 *       int64 from, int64 to: ms, half-open
 *
 * Versions 1 and 2 have zstd of the same after the format's byte, without layout ids and with layouts that are not packed;
 * version 1 has no deletions. Version 3 saves both sides the compression: a layout is packed, and checked, once in the life
 * of an instance, and one timestamp's values compress to no fewer of the stream's 25 KB units. Version 4 lets many rows, of
 * other series each, share a layout.
 *
 * A record's groups all lie in its partition. No two of its frames have a value for one (series, timestamp). Its deletions
 * are older than its samples.
 */
export interface RecordFrame {
  readonly timestamp: number;
  /** The series of the layout that the frame has values of (codec/presence.ts); absent: all. */
  readonly presence?: Uint8Array;
  /** 8 raw little-endian bytes for each series that is present. */
  readonly values: Uint8Array;
}

export interface RecordGroup {
  readonly sourceIdBytes: Uint8Array;
  readonly splitBits: number;
  readonly splitIndex: number;
  readonly layout: PackedLayout;
  readonly frames: readonly RecordFrame[];
}

export interface StreamRecord {
  readonly tenant: string;
  readonly partition: number;
  readonly groups: readonly RecordGroup[];
  /** Absent when there are none. */
  readonly deletions?: readonly SourceDeletion[];
}

/** Poison: a record that this release cannot read, and that goes to quarantine. */
export class MalformedRecordError extends Error {
  override readonly name = 'MalformedRecordError';
}

/** Most bytes of a record's body: below Kinesis' 1 MiB even when nothing compresses. */
export const MAX_BODY_BYTES = 900_000;
/** Most bytes that a reader lets a body expand to: room for writers of later releases. */
const MAX_DECODED_BYTES = 16 * 1024 * 1024;
const MAGIC = Buffer.from('HR');
const SAMPLES = 1;
const WITH_DELETIONS = 2;
const PLAIN = 3;
const PARTIAL = 4;
const HEADER_BYTES = MAGIC.length + 1;
const CRC_BYTES = 4;

/**
 * Encodes groups of one partition, in as many records as keep each below the stream's limit.
 *
 * @throws {RangeError} when a single frame with its layout exceeds a record; groups are bounded far below
 */
export function encodeRecords(
  tenant: string,
  partition: number,
  groups: readonly RecordGroup[],
  format: RecordFormat = FORMATS.record.writes[0],
): Buffer[] {
  const records: Buffer[] = [];
  let pending: RecordGroup[] = [];
  let pendingBytes = 0;
  const cut = () => {
    if (pending.length > 0) records.push(encodeRecord({ tenant, partition, groups: pending }, format));
    pending = [];
    pendingBytes = 0;
  };
  for (const group of groups) {
    const overhead = group.layout.packed.length + 64;
    let frames: RecordFrame[] = [];
    for (const frame of group.frames) {
      const bytes =
        frame.values.length + (frame.presence?.length ?? 0) + 9 + (frames.length === 0 ? overhead : 0);
      if (bytes > MAX_BODY_BYTES) throw new RangeError(`a frame of ${bytes} bytes exceeds a record`);
      if (pendingBytes + bytes > MAX_BODY_BYTES) {
        if (frames.length > 0) pending.push({ ...group, frames });
        frames = [];
        cut();
        pendingBytes = overhead;
      }
      frames.push(frame);
      pendingBytes += bytes;
    }
    if (frames.length > 0) pending.push({ ...group, frames });
  }
  cut();
  return records;
}

export function encodeRecord(record: StreamRecord, format: RecordFormat = FORMATS.record.writes[0]): Buffer {
  const { deletions = [] } = record;
  const isPlain = format === PLAIN || format === PARTIAL;
  const writer = new ByteWriter(estimatedBytes(record));
  if (isPlain) writer.bytes(MAGIC).byte(format).bytes(new Uint8Array(CRC_BYTES));
  writer.text(record.tenant).uvarint(record.partition).uvarint(record.groups.length);
  for (const { sourceIdBytes, splitBits, splitIndex, layout, frames } of record.groups) {
    writer.bytes(sourceIdBytes).byte(splitBits).uvarint(splitIndex);
    if (isPlain) writer.bytes(layout.idBytes);
    const layoutBytes = isPlain ? layout.packed : unpackLayout(layout.packed);
    writer.uvarint(layoutBytes.length).bytes(layoutBytes).uvarint(frames.length);
    for (const { timestamp, presence, values } of frames) {
      writer.int64(timestamp);
      if (format === PARTIAL) {
        writer.byte(presence === undefined ? 0 : 1);
        if (presence !== undefined) writer.bytes(presence);
      } else if (presence !== undefined)
        throw new RangeError(`a record of format ${format} has no presence maps`);
      writer.bytes(values);
    }
  }
  if (isPlain || deletions.length > 0) {
    writer.uvarint(deletions.length);
    for (const { sourceId, selector, fromMs, toMs } of deletions)
      writer
        .bytes(Buffer.from(sourceId, 'base64url'))
        .byte(selector.isPrefix ? 1 : 0)
        .text(selector.name)
        .int64(fromMs)
        .int64(toMs);
  }
  const bytes = writer.finish();
  if (isPlain) {
    bytes.writeUInt32LE(crc32(bytes.subarray(HEADER_BYTES + CRC_BYTES)), HEADER_BYTES);
    return bytes;
  }
  return Buffer.concat([
    MAGIC,
    // Without deletions: version 1, which older readers know.
    Buffer.of(deletions.length > 0 ? WITH_DELETIONS : SAMPLES),
    zstdCompressSync(bytes, { params: { [zlib.ZSTD_c_compressionLevel]: 1 } }),
  ]);
}

/** An estimate of a record's size, rather too high. */
function estimatedBytes({ groups }: StreamRecord): number {
  let bytes = 1024;
  for (const { layout, frames } of groups)
    bytes += 64 + layout.packed.length + frames.length * (9 + 9 * layout.seriesCount);
  return bytes;
}

/**
 * Reads a record. Values are views of the record, or of its decompressed body.
 *
 * @throws {MalformedRecordError} when the bytes are not a record of a format this release reads
 */
export function decodeRecord(bytes: Uint8Array): StreamRecord {
  const format = bytes[MAGIC.length]!;
  const readable: readonly number[] = FORMATS.record.reads;
  if (!readable.includes(format) || !MAGIC.equals(bytes.subarray(0, MAGIC.length)))
    throw new MalformedRecordError(
      `${bytes.length} bytes are not a record of the formats that this release reads, ${readable.join(', ')}`,
    );
  try {
    if (format === PLAIN || format === PARTIAL) return decodeBody(new ByteReader(checkedBody(bytes)), format);
    const body = zstdDecompressSync(bytes.subarray(HEADER_BYTES), { maxOutputLength: MAX_DECODED_BYTES });
    return decodeBody(new ByteReader(body), format);
  } catch (error) {
    throw new MalformedRecordError(`record of ${bytes.length} bytes: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function checkedBody(bytes: Uint8Array): Uint8Array {
  const reader = new ByteReader(bytes, HEADER_BYTES);
  const stored = reader.bytes(CRC_BYTES).readUInt32LE();
  const body = bytes.subarray(reader.offset);
  const found = crc32(body);
  if (found !== stored) throw new MalformedBytesError(`CRC-32 is ${found}, the record says ${stored}`);
  return body;
}

/** Well-formed layouts, by id: the same few come minute after minute. */
const checkedLayouts = new BoundedCache<PackedLayout>(192_000_000, ({ packed }) => packed.length + 350);

/** The layout of a group in versions 1 and 2. */
function plainLayout(bytes: Uint8Array): PackedLayout {
  const cached = checkedLayouts.get(idText(layoutIdOf(bytes)));
  if (cached !== undefined) return cached;
  checkLayout(bytes);
  const layout = packLayout(bytes);
  checkedLayouts.set(layout.id, layout);
  return layout;
}

/** The layout of a group from version 3 on, which states its id: verified the first time, compared with the cache afterwards. */
function packedLayout(idBytes: Uint8Array, packed: Buffer): PackedLayout {
  const id = idText(idBytes);
  const cached = checkedLayouts.get(id);
  if (cached !== undefined && packed.equals(cached.packed)) return cached;
  const bytes = unpackLayout(packed);
  const found = layoutIdOf(bytes);
  if (!found.equals(idBytes))
    throw new MalformedBytesError(`the record says layout ${id}, its bytes are layout ${idText(found)}`);
  const hashes = checkLayout(bytes);
  // A copy: views would keep the whole record.
  const layout = { id, idBytes: found, seriesCount: hashes.length, packed: new Uint8Array(packed) };
  noteChecked(layout.packed, { bytes, hashes });
  checkedLayouts.set(id, layout);
  return layout;
}

function decodeBody(reader: ByteReader, format: number): StreamRecord {
  const tenant = reader.text();
  const partition = reader.uvarint();
  if (partition >= MAX_PARTITIONS)
    throw new MalformedBytesError(`partition ${partition}; at most ${MAX_PARTITIONS - 1} is allowed`);
  const groups = Array.from({ length: reader.count(ID_BYTES + 4) }, () => {
    const sourceIdBytes = reader.bytes(ID_BYTES);
    const splitBits = reader.byte();
    const splitIndex = reader.uvarint();
    if (splitBits > 15 || splitIndex >= 2 ** splitBits)
      throw new MalformedBytesError(`split ${splitIndex} of 2^${splitBits}`);
    const layout =
      format === PLAIN || format === PARTIAL
        ? packedLayout(reader.bytes(ID_BYTES), reader.bytes(reader.count(1)))
        : plainLayout(reader.bytes(reader.count(1)));
    const valueBytes = layout.seriesCount * 8;
    const frames = Array.from({ length: reader.count(format === PARTIAL ? 17 : 8 + valueBytes) }, () => {
      const timestamp = reader.int64();
      const presence = format === PARTIAL ? decodePresence(reader, layout.seriesCount) : undefined;
      if (presence === undefined) return { timestamp, values: reader.bytes(valueBytes) };
      return { timestamp, presence, values: reader.bytes(8 * presentCount(presence)) };
    });
    return { sourceIdBytes, splitBits, splitIndex, layout, frames };
  });
  const deletions = format === SAMPLES ? [] : decodeDeletions(reader);
  if (reader.left !== 0) throw new MalformedBytesError(`${reader.left} bytes after the record`);
  return deletions.length === 0 ? { tenant, partition, groups } : { tenant, partition, groups, deletions };
}

/** @returns undefined when all series are present */
function decodePresence(reader: ByteReader, seriesCount: number): Uint8Array | undefined {
  const flag = reader.byte();
  if (flag === 0) return undefined;
  const presence = reader.bytes(presenceBytes(seriesCount));
  if (flag !== 1 || !isPresenceOf(presence, seriesCount) || presentCount(presence) === 0)
    throw new MalformedBytesError(`presence map ${flag} of ${seriesCount} series`);
  return presence;
}

function decodeDeletions(reader: ByteReader): SourceDeletion[] {
  return Array.from({ length: reader.count(ID_BYTES + 18) }, () => {
    const sourceId = idText(reader.bytes(ID_BYTES));
    const kind = reader.byte();
    if (kind > 1) throw new MalformedBytesError(`deletion of kind ${kind}; this release reads 0 and 1`);
    const selector = { name: reader.text(), isPrefix: kind === 1 };
    const fromMs = reader.int64();
    const toMs = reader.int64();
    if (fromMs >= toMs) throw new MalformedBytesError(`deletion of [${fromMs}, ${toMs})`);
    return { sourceId, selector, fromMs, toMs };
  });
}
