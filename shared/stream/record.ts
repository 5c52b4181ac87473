import { crc32 } from 'node:zlib';
import type { Frame } from '../codec';
import { ByteWriter } from '../model/bytes';
import type { SourceDeletion } from '../model/deletion';
import type { PackedLayout } from '../model/packed-layout';

/**
 * The format of a record in the stream. A record has everything that is needed to rebuild the later tiers,
 * except the version of its samples, which the stream adds (DESIGN.md, rule 6).
 *
 *     'H' 'R'  magic
 *     byte     format version, 1
 *     uint32   CRC-32 of the bytes that follow, little-endian
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
 * Only layouts are compressed. An instance of post compresses a layout only once, and an instance of the ingester
 * checks it only once. Compressing the values of one timestamp would not reduce the units of 25 KB that Kinesis
 * bills.
 *
 * All groups in a record belong to the record's partition. No two frames have a value for the same series and
 * timestamp. The deletions of a record do not delete its own samples.
 */
export type RecordFrame = Pick<Frame, 'timestamp' | 'presence' | 'values'>;

/** Frames of one group, all in one layout. */
export interface RecordGroup {
  /** The 16 bytes of the id of the source, or of its pool. */
  readonly sourceIdBytes: Uint8Array;
  /** The source is split into `2 ** splitBits` groups; this group has the index `splitIndex`. */
  readonly splitBits: number;
  readonly splitIndex: number;
  readonly layout: PackedLayout;
  readonly frames: readonly RecordFrame[];
}

export interface StreamRecord {
  readonly tenant: string;
  readonly partition: number;
  readonly groups: readonly RecordGroup[];
  /** Absent if the record has no deletions. */
  readonly deletions?: readonly SourceDeletion[];
}

/** Maximum size of the groups in a record, in bytes. It keeps the whole record below 1 MiB, Kinesis' limit. */
export const MAX_RECORD_BODY_BYTES = 900_000;
export const MAGIC = Buffer.from('HR');
export const VERSION = 1;
export const HEADER_BYTES = MAGIC.length + 1;
export const CRC_BYTES = 4;

/**
 * Encodes groups of one partition as one or more records, each below the stream's limit.
 *
 * @throws {RangeError} when a single frame with its layout does not fit into a record. The bounds on groups prevent
 *   this
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
      if (bytes > MAX_RECORD_BODY_BYTES) throw new RangeError(`a frame of ${bytes} bytes exceeds a record`);
      if (pendingBytes + bytes > MAX_RECORD_BODY_BYTES) {
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

/**
 * Estimates the size of a record, in bytes. Overestimates, so that the writer need not grow its buffer.
 */
function estimatedBytes({ groups }: StreamRecord): number {
  let bytes = 1024;
  for (const { layout, frames } of groups)
    bytes += 64 + layout.packed.length + frames.length * (9 + 9 * layout.seriesCount);
  return bytes;
}
