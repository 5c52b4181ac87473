import { constants as zlib, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { ByteReader, ByteWriter, MalformedBytesError } from './bytes';
import type { Deletion } from './deletion';
import { ID_BYTES, type Id, idText } from './id';
import { decodeLayout, layoutIdOf, seriesCountOf } from './layout';
import { MAX_PARTITIONS } from './placement';

/**
 * A stream record: all that is needed to rebuild the later tiers (design.md, rule 6). The stream adds the version.
 *
 *     'H' 'R'  magic
 *     byte     format version: 1, or 2 when it deletes something
 *     zstd     of the body:
 *       text     tenant name
 *       uvarint  partition
 *       uvarint  number of groups; each:
 *         16 bytes source id, byte split bits, uvarint split index
 *         uvarint  length of the layout, the layout's bytes
 *         uvarint  number of frames; each: int64 timestamp, ms; 8 raw bytes for each series of the layout
 *       in version 2: uvarint number of deletions; each:
 *         16 bytes source id, byte 0 for the series of one name or 1 for those whose names begin so, text name
 *         int64 from, int64 to: ms, half-open
 *
 * A record's groups all lie in its partition. No two of its frames have a value for one (series, timestamp). What it
 * deletes is older than what it has.
 */
export interface RecordFrame {
  readonly timestamp: number;
  /** 8 raw little-endian bytes for each series of the layout. */
  readonly values: Uint8Array;
}

export interface RecordGroup {
  readonly sourceId: Uint8Array;
  readonly splitBits: number;
  readonly splitIndex: number;
  readonly layout: Uint8Array;
  readonly frames: readonly RecordFrame[];
}

export interface RecordDeletion extends Deletion {
  readonly sourceId: Uint8Array;
}

export interface StreamRecord {
  readonly tenant: string;
  readonly partition: number;
  readonly groups: readonly RecordGroup[];
  /** Absent when there are none. */
  readonly deletions?: readonly RecordDeletion[];
}

/** A record that this release cannot read: poison, to be put in quarantine. */
export class MalformedRecordError extends Error {
  override readonly name = 'MalformedRecordError';
}

/** Bytes of a body from which a record is cut; keeps records below Kinesis' 1 MiB even when nothing compresses. */
export const MAX_BODY_BYTES = 900_000;
/** What a reader allows a body to expand to: room for writers of later releases. */
const MAX_DECODED_BYTES = 16 * 1024 * 1024;
const MAGIC = Buffer.from('HR');
const SAMPLES = 1;
const WITH_DELETIONS = 2;
const HEADER_BYTES = MAGIC.length + 1;

/**
 * Encodes groups of one partition into as many records as keep each below the stream's limit.
 *
 * @throws {RangeError} when one frame with its layout exceeds a record by itself; groups are bounded far below
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
    const overhead = group.layout.length + 64;
    let frames: RecordFrame[] = [];
    for (const frame of group.frames) {
      const bytes = frame.values.length + 8 + (frames.length === 0 ? overhead : 0);
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
  const { deletions = [] } = record;
  const body = new ByteWriter(4096)
    .text(record.tenant)
    .uvarint(record.partition)
    .uvarint(record.groups.length);
  for (const group of record.groups) {
    body.bytes(group.sourceId).byte(group.splitBits).uvarint(group.splitIndex);
    body.uvarint(group.layout.length).bytes(group.layout).uvarint(group.frames.length);
    for (const frame of group.frames) body.int64(frame.timestamp).bytes(frame.values);
  }
  if (deletions.length > 0) {
    body.uvarint(deletions.length);
    for (const { sourceId, selector, fromMs, toMs } of deletions)
      body
        .bytes(sourceId)
        .byte(selector.isPrefix ? 1 : 0)
        .text(selector.name)
        .int64(fromMs)
        .int64(toMs);
  }
  return Buffer.concat([
    MAGIC,
    // Of a record without deletions what readers of before know.
    Buffer.of(deletions.length > 0 ? WITH_DELETIONS : SAMPLES),
    zstdCompressSync(body.finish(), { params: { [zlib.ZSTD_c_compressionLevel]: 1 } }),
  ]);
}

/**
 * Reads a record. Values are views of the decompressed body.
 *
 * @throws {MalformedRecordError} when the bytes are not a record of a format this release reads
 */
export function decodeRecord(bytes: Uint8Array): StreamRecord {
  const format = bytes[MAGIC.length];
  if ((format !== SAMPLES && format !== WITH_DELETIONS) || !MAGIC.equals(bytes.subarray(0, MAGIC.length)))
    throw new MalformedRecordError(`${bytes.length} bytes that are not a record of format 1 or 2`);
  try {
    const body = zstdDecompressSync(bytes.subarray(HEADER_BYTES), { maxOutputLength: MAX_DECODED_BYTES });
    return decodeBody(new ByteReader(body), format === WITH_DELETIONS);
  } catch (error) {
    throw new MalformedRecordError(`record of ${bytes.length} bytes: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Layouts found well-formed, by id: the same few come minute after minute. */
const checked = new LRUCache<Id, true>({ max: 100_000 });

function checkLayout(bytes: Uint8Array): void {
  const id = idText(layoutIdOf(bytes));
  if (checked.has(id)) return;
  decodeLayout(bytes);
  checked.set(id, true);
}

function decodeBody(reader: ByteReader, hasDeletions: boolean): StreamRecord {
  const tenant = reader.text();
  const partition = reader.uvarint();
  if (partition >= MAX_PARTITIONS)
    throw new MalformedBytesError(`partition ${partition} of ${MAX_PARTITIONS} at most`);
  const groups = Array.from({ length: reader.count(ID_BYTES + 4) }, () => {
    const sourceId = reader.bytes(ID_BYTES);
    const splitBits = reader.byte();
    const splitIndex = reader.uvarint();
    if (splitBits > 15 || splitIndex >= 2 ** splitBits)
      throw new MalformedBytesError(`split ${splitIndex} of 2^${splitBits}`);
    const layout = reader.bytes(reader.count(1));
    checkLayout(layout);
    const valueBytes = seriesCountOf(layout) * 8;
    const frames = Array.from({ length: reader.count(8 + valueBytes) }, () => ({
      timestamp: reader.int64(),
      values: reader.bytes(valueBytes),
    }));
    return { sourceId, splitBits, splitIndex, layout, frames };
  });
  const deletions = hasDeletions ? decodeDeletions(reader) : undefined;
  if (reader.left !== 0) throw new MalformedBytesError(`${reader.left} bytes after the record`);
  return deletions === undefined ? { tenant, partition, groups } : { tenant, partition, groups, deletions };
}

function decodeDeletions(reader: ByteReader): RecordDeletion[] {
  return Array.from({ length: reader.count(ID_BYTES + 18) }, () => {
    const sourceId = reader.bytes(ID_BYTES);
    const kind = reader.byte();
    if (kind > 1) throw new MalformedBytesError(`deletion of kind ${kind}, this release reads 0 and 1`);
    const selector = { name: reader.text(), isPrefix: kind === 1 };
    const fromMs = reader.int64();
    const toMs = reader.int64();
    if (fromMs >= toMs) throw new MalformedBytesError(`deletion of [${fromMs}, ${toMs})`);
    return { sourceId, selector, fromMs, toMs };
  });
}
