import { crc32 } from 'node:zlib';
import { isPresenceOf, presenceBytes, presentCount } from '../codec';
import { ByteReader, MalformedBytesError } from '../model/bytes';
import { checkedLayout, noteChecked } from '../model/checked-layouts';
import type { SourceDeletion } from '../model/deletion';
import { ID_BYTES, idText } from '../model/id';
import { checkLayout, layoutIdOf } from '../model/layout-bytes';
import { type PackedLayout, unpackLayout } from '../model/packed-layout';
import { MAX_PARTITIONS } from '../model/placement';
import { CRC_BYTES, HEADER_BYTES, MAGIC, type StreamRecord, VERSION } from './record';

/** A record as the stream delivers it. {@link decodeRecord} decodes its data. */
export interface DeliveredRecord {
  /** The record's sequence number in its shard, in decimal digits. */
  readonly sequenceNumber: string;
  /** When the record arrived in the stream, as Unix time in ms. Kinesis calls this time "approximate". */
  readonly arrivalMs: number;
  readonly shardId: string;
  readonly data: Uint8Array;
}

/** A record that this release can never read. The ingester puts it into quarantine. */
export class MalformedRecordError extends Error {
  override readonly name = 'MalformedRecordError';
}

/** Size of the smallest frame, in bytes: a timestamp (8), a presence flag (1) and one value (8). */
const MIN_FRAME_BYTES = 17;

/**
 * Decodes a record. The values of its frames are views of `bytes`, not copies.
 *
 * @throws {MalformedRecordError} when the bytes are not a record of the format version that this release
 *   reads
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

/** Returns a record's bytes after the CRC-32. Throws if these bytes do not match the CRC-32. */
function checkedBody(bytes: Uint8Array): Uint8Array {
  const reader = new ByteReader(bytes, HEADER_BYTES);
  const stored = reader.bytes(CRC_BYTES).readUInt32LE();
  const body = bytes.subarray(reader.offset);
  const found = crc32(body);
  if (found !== stored) throw new MalformedBytesError(`CRC-32 is ${found}, the record says ${stored}`);
  return body;
}

/**
 * Returns a layout that a record contains. Verifies the layout's bytes, unless this instance has already verified an
 * equal layout.
 */
function packedLayout(idBytes: Uint8Array, packed: Buffer): PackedLayout {
  const id = idText(idBytes);
  const cached = checkedLayout(id);
  if (cached !== undefined && packed.equals(cached.packed)) return cached;
  const bytes = unpackLayout(packed);
  const found = layoutIdOf(bytes);
  if (!found.equals(idBytes))
    throw new MalformedBytesError(`the record says layout ${id}, its bytes are layout ${idText(found)}`);
  const hashes = checkLayout(bytes);
  // Copy the bytes, because a view would keep the whole record alive.
  const layout = { id, idBytes: found, seriesCount: hashes.length, packed: new Uint8Array(packed), bytes };
  noteChecked(layout, hashes);
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
  if (reader.remaining !== 0) throw new MalformedBytesError(`${reader.remaining} bytes after the record`);
  return deletions.length === 0 ? { tenant, partition, groups } : { tenant, partition, groups, deletions };
}

/**
 * Reads the presence map of a frame (codec/presence.ts). Returns undefined if the frame has values for all series.
 */
function decodePresence(reader: ByteReader, seriesCount: number): Uint8Array | undefined {
  const flag = reader.byte();
  if (flag === 0) return undefined;
  const presence = reader.bytes(presenceBytes(seriesCount));
  if (flag !== 1 || !isPresenceOf(presence, seriesCount) || presentCount(presence) === 0)
    throw new MalformedBytesError(`invalid presence map of ${seriesCount} series, flag ${flag}`);
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
    if (fromMs >= toMs) throw new MalformedBytesError(`deletion of the empty range [${fromMs}, ${toMs})`);
    return { sourceId, selector, fromMs, toMs };
  });
}
