import { MalformedRecordError } from './record-decoder';

/**
 * A heartbeat is a record without samples. The recovery function puts one into every shard each minute. So even a shard
 * without posts gets records, and the lag of its consumer can be measured. A replay that meets a heartbeat with its own
 * id has read all records that were in the shard when the replay began.
 *
 *     'H' 'B'  magic
 *     byte     format version, 1
 *     text     id of the running replay, '' if none is running: UTF-8, the rest of the record
 */
const HEADER = Buffer.from([0x48, 0x42, 1]);

export function encodeHeartbeat(replay: string): Buffer {
  return Buffer.concat([HEADER, Buffer.from(replay)]);
}

/**
 * Decodes a record, if it is a heartbeat.
 *
 * @returns the id of the running replay, '' if none is running; undefined if the record is not a heartbeat
 * @throws {MalformedRecordError} when the heartbeat has a format version that this release does not read, or
 *   is too long
 */
export function decodeHeartbeat(bytes: Uint8Array): string | undefined {
  if (bytes[0] !== HEADER[0] || bytes[1] !== HEADER[1]) return undefined;
  if (bytes[2] !== HEADER[2])
    throw new MalformedRecordError(`heartbeat of format ${bytes[2]}; this release reads ${HEADER[2]}`);
  if (bytes.length > 100)
    throw new MalformedRecordError(`heartbeat of ${bytes.length} bytes; at most 100 are allowed`);
  return Buffer.from(bytes.subarray(HEADER.length)).toString('utf8');
}
