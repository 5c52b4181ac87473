import { MalformedRecordError } from './record';

/**
 * A record without samples that the recovery function puts into every shard each minute. With it a reader moves on where
 * nobody posts, so that what is behind and what is not is known; and a replay that meets one made after it began has
 * read all that came before.
 *
 *     'H' 'B'  magic
 *     byte     format version, 1
 *     text     id of the replay that runs, '' for none: UTF-8, the rest of the record
 */
const HEADER = Buffer.from([0x48, 0x42, 1]);

export function encodeHeartbeat(replay: string): Buffer {
  return Buffer.concat([HEADER, Buffer.from(replay)]);
}

/**
 * @returns the id of the replay, '' for none; undefined for a record that is not a heartbeat
 * @throws {MalformedRecordError} when it is one of a format this release does not read
 */
export function decodeHeartbeat(bytes: Uint8Array): string | undefined {
  if (bytes[0] !== HEADER[0] || bytes[1] !== HEADER[1]) return undefined;
  if (bytes[2] !== HEADER[2]) throw new MalformedRecordError(`a heartbeat of format ${bytes[2]}`);
  if (bytes.length > 100) throw new MalformedRecordError(`a heartbeat of ${bytes.length} bytes`);
  return Buffer.from(bytes.subarray(HEADER.length)).toString('utf8');
}
