import { crc32 } from 'node:zlib';
import { isPresenceOf, presenceBytes, presentCount } from '../codec';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import { ByteReader, ByteWriter, MalformedBytesError } from '../model/bytes';
import type { SourceDeletion } from '../model/deletion';
import { ID_BYTES, idText } from '../model/id';
import { checkLayout, layoutIdOf } from '../model/layout-bytes';
import { noteChecked, type PackedLayout, unpackLayout } from '../model/packed-layout';
import { MAX_PARTITIONS } from '../model/placement';

/**
 * A stream record holds all that is needed to rebuild the later tiers (DESIGN.md, rule 6). The stream adds the version.
 *
 *     'H' 'R'  magic
 *     byte     format version, 1
 *     uint32   CRC-32 of the rest, little-endian
 *     text     tenant name
 *     uvarint  partition
 *     uvarint  number of groups; each:
 *       16 bytes id of the source or its pool, byte split bits, uvarint split index
 *       16 bytes layout id, uvarint length of the packed layout, zstd of the layout's bytes
 *       uvarint  number of frames; each: int64 timestamp, ms; byte 0, or byte 1 and a presence map (codec/presence.ts);
 *                8 raw bytes for each series of the layout, or for each series in the presence map
 *     uvarint number of deletions; each:
 *       16 bytes source id, byte 0 for one name or 1 for a prefix of names, text name or prefix
 *       int64 from, int64 to: ms, half-open
 *
 * A record as a whole is not compressed. A layout is packed, and checked, once in the life of an instance, and one
 * timestamp's values compress to no fewer of the stream's 25 KB units.
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
const MAGIC = Buffer.from('HR');
const VERSION = 1;
const HEADER_BYTES = MAGIC.length + 1;
const CRC_BYTES = 4;
/** Timestamp, presence flag, one value. */
const MIN_FRAME_BYTES = 17;

/**
 * Encodes groups of one partition, in as many records as keep each below the stream's limit.
 *
 * @throws {RangeError} when a single frame with its layout exceeds a record; groups are bounded far below
 */
export function encodeRecords(tenant: string, partition: number, groups: readonly RecordGroup[]): Buffer[] {
  const records: Buffer[] = [];
  let pending: RecordGroup[] = [];
  let pendingBytes = 0;
  const cut = () => {
    if (pending.length > 0) records.push(encodeRecord({ tenant, partition, groups: pending }));
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

export function encodeRecord(record: StreamRecord): Buffer {
  const { tenant, partition, groups, deletions = [] } = record;
  const writer = new ByteWriter(estimatedBytes(record));
  writer.bytes(MAGIC).byte(VERSION).bytes(new Uint8Array(CRC_BYTES));
  writer.text(tenant).uvarint(partition).uvarint(groups.length);
  for (const { sourceIdBytes, splitBits, splitIndex, layout, frames } of groups) {
    writer.bytes(sourceIdBytes).byte(splitBits).uvarint(splitIndex);
    writer.bytes(layout.idBytes).uvarint(layout.packed.length).bytes(layout.packed).uvarint(frames.length);
    for (const { timestamp, presence, values } of frames) {
      writer.int64(timestamp);
      if (presence === undefined) writer.byte(0);
      else writer.byte(1).bytes(presence);
      writer.bytes(values);
    }
  }
  writer.uvarint(deletions.length);
  for (const { sourceId, selector, fromMs, toMs } of deletions)
    writer
      .bytes(Buffer.from(sourceId, 'base64url'))
      .byte(selector.isPrefix ? 1 : 0)
      .text(selector.name)
      .int64(fromMs)
      .int64(toMs);
  const bytes = writer.finish();
  bytes.writeUInt32LE(crc32(bytes.subarray(HEADER_BYTES + CRC_BYTES)), HEADER_BYTES);
  return bytes;
}

/** An estimate of a record's size, rather too high. */
function estimatedBytes({ groups }: StreamRecord): number {
  let bytes = 1024;
  for (const { layout, frames } of groups)
    bytes += 64 + layout.packed.length + frames.length * (9 + 9 * layout.seriesCount);
  return bytes;
}

/**
 * Reads a record. Values are views of the record.
 *
 * @throws {MalformedRecordError} when the bytes are not a record of the format version this release reads
 */
export function decodeRecord(bytes: Uint8Array): StreamRecord {
  if (!MAGIC.equals(bytes.subarray(0, MAGIC.length)))
    throw new MalformedRecordError(`${bytes.length} bytes are not a record: they do not begin with HR`);
  const version = bytes[MAGIC.length];
  if (version !== VERSION)
    throw new MalformedRecordError(
      `record of ${bytes.length} bytes has format version ${version}; this release reads ${VERSION}`,
    );
  try {
    return decodeBody(new ByteReader(checkedBody(bytes)));
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
const checkedLayouts = new Cache<PackedLayout>(CACHES.checkedLayouts, ({ packed }) => packed.length + 350);

/** Verifies a layout that the cache lacks; compares any other with the cache. */
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

function decodeBody(reader: ByteReader): StreamRecord {
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
    const layout = packedLayout(reader.bytes(ID_BYTES), reader.bytes(reader.count(1)));
    const frames = Array.from({ length: reader.count(MIN_FRAME_BYTES) }, () => {
      const timestamp = reader.int64();
      const presence = decodePresence(reader, layout.seriesCount);
      if (presence === undefined) return { timestamp, values: reader.bytes(8 * layout.seriesCount) };
      return { timestamp, presence, values: reader.bytes(8 * presentCount(presence)) };
    });
    return { sourceIdBytes, splitBits, splitIndex, layout, frames };
  });
  const deletions = decodeDeletions(reader);
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
