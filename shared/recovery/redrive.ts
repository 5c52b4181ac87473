import { BUCKET_PREFIX } from '../platform/names';
import type { DeliveredRecord } from '../stream/delivered';

/** An object in quarantine, or a dead letter. */
export interface RedriveObject {
  readonly key: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

export interface RedrivePage {
  readonly objects: readonly RedriveObject[];
  readonly hasMore: boolean;
}

/** The bucket's objects that can be driven again: quarantined records, and dead letters (batches that the mapping gave up). */
export interface RedriveStore {
  /** Lists up to `most` objects in key order, from after the key `after`. */
  list(prefix: string, after: string | undefined, most: number): Promise<RedrivePage>;
  /** @returns undefined if the object is gone */
  read(key: string): Promise<{ body: Uint8Array; metadata: Readonly<Record<string, string>> } | undefined>;
  delete(key: string): Promise<void>;
}

/** Runs the ingester's code once more. Appending a record again changes nothing. */
export type IngestAgain = (records: readonly DeliveredRecord[]) => Promise<{
  /** Sequence numbers of records that a store refused. */
  readonly failed: readonly string[];
  /** Sequence numbers of records that still cannot be decoded; they are in quarantine. */
  readonly quarantined: readonly string[];
}>;

export interface RedriveDependencies {
  readonly store: RedriveStore;
  readonly ingest: IngestAgain;
  /** Whether there is time for another object. */
  readonly hasTime: () => boolean;
}

export interface RedriveResult {
  /** Records that were appended. */
  readonly records: number;
  /** Records that still cannot be decoded; they stay in quarantine. */
  readonly poison: number;
  /** Objects that stay because a store refused their records or they are malformed. */
  readonly failed: number;
  /** The reason of the last of those. */
  readonly error: string | undefined;
  /** The last key looked at, to go on after; undefined at the end. */
  readonly next: string | undefined;
}

/** An object is neither a quarantined record nor a dead letter. */
export class MalformedRedriveObjectError extends Error {
  override readonly name = 'MalformedRedriveObjectError';
}

/** Data bytes of one replayer call: in base64 within Lambda's 6 MB. */
const MAX_CALL_DATA_BYTES = 3_000_000;
const PAGE = 100;

/**
 * Drives quarantined records or dead letters through the ingester's code again, with the versions that the stream gave them
 * (DESIGN.md, rule 9). Removes an object once each of its records is appended or, of a dead letter, in quarantine. A crash in
 * between drives it twice, which changes nothing. Ends at the first object that a store refuses.
 *
 * @param prefix {@link BUCKET_PREFIX}'s `quarantine` or `onFailure`
 * @param after only objects whose keys follow it
 */
export async function redrive(
  { store, ingest, hasTime }: RedriveDependencies,
  prefix: string,
  after?: string,
): Promise<RedriveResult> {
  let records = 0;
  let poison = 0;
  let failed = 0;
  let error: string | undefined;
  let last = after;
  for (;;) {
    const { objects, hasMore } = await store.list(prefix, last, PAGE);
    for (const { key } of objects) {
      if (!hasTime()) return { records, poison, failed, error, next: last ?? '' };
      last = key;
      const object = await store.read(key);
      if (object === undefined) continue;
      let delivered: readonly DeliveredRecord[];
      try {
        delivered = recordsInObject(key, object.body, object.metadata);
      } catch (cause) {
        if (!(cause instanceof MalformedRedriveObjectError)) throw cause;
        failed++;
        error = cause.message;
        continue;
      }
      let quarantined = 0;
      for (const part of cut(delivered)) {
        const result = await ingest(part);
        quarantined += result.quarantined.length;
        if (result.failed.length > 0) {
          failed++;
          error = `${key}: a store refused ${result.failed.length} of ${part.length} records`;
          return { records, poison, failed, error, next: undefined };
        }
      }
      records += delivered.length - quarantined;
      poison += quarantined;
      // The ingester has just put a poison record into quarantine again, under the same key.
      if (quarantined === 0 || prefix !== BUCKET_PREFIX.quarantine) await store.delete(key);
    }
    if (!hasMore) return { records, poison, failed, error, next: undefined };
  }
}

/** Decodes an object's records; its key tells which kind of object it is. @throws {MalformedRedriveObjectError} */
export function recordsInObject(
  key: string,
  body: Uint8Array,
  metadata: Readonly<Record<string, string>>,
): DeliveredRecord[] {
  return key.startsWith(BUCKET_PREFIX.quarantine)
    ? [quarantinedRecord(key, body, metadata)]
    : deadLetterRecords(key, body);
}

/** The key is `quarantine/<shard>/<sequence number>`, the arrival time is in the metadata. */
function quarantinedRecord(
  key: string,
  data: Uint8Array,
  { arrival }: Readonly<Record<string, string>>,
): DeliveredRecord {
  const [, shardId, sequenceNumber] = /^quarantine\/([^/]+)\/(\d+)$/.exec(key) ?? [];
  const arrivalMs = Number(arrival);
  if (shardId === undefined || sequenceNumber === undefined || arrival === undefined || !isTime(arrivalMs))
    throw new MalformedRedriveObjectError(
      `${key} is not a quarantined record: its key or its arrival time is wrong`,
    );
  return { shardId, sequenceNumber, arrivalMs, data };
}

/**
 * Lambda writes the event that it invoked the function with as text in `payload`.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html
 */
function deadLetterRecords(key: string, body: Uint8Array): DeliveredRecord[] {
  const malformed = (cause?: unknown) =>
    new MalformedRedriveObjectError(`${key} is not a dead letter of an event source mapping`, { cause });
  let event: { Records?: unknown };
  try {
    const { payload } = JSON.parse(Buffer.from(body).toString('utf8')) as { payload: unknown };
    event = (typeof payload === 'string' ? JSON.parse(payload) : payload) as typeof event;
  } catch (cause) {
    throw malformed(cause);
  }
  if (!Array.isArray(event?.Records)) throw malformed();
  return event.Records.map((record) => {
    const { eventID, kinesis } = record ?? {};
    const { sequenceNumber, approximateArrivalTimestamp, data } = kinesis ?? {};
    const arrivalMs = Math.round(Number(approximateArrivalTimestamp) * 1000);
    const shardId = typeof eventID === 'string' ? eventID.split(':')[0]! : '';
    if (!/^\d+$/.test(sequenceNumber) || !isTime(arrivalMs) || typeof data !== 'string' || shardId === '')
      throw malformed();
    return { shardId, sequenceNumber, arrivalMs, data: Buffer.from(data, 'base64') };
  });
}

function isTime(ms: number): boolean {
  return Number.isSafeInteger(ms) && ms >= 0;
}

/** Cuts records into calls that fit, in order. A single record always fits. */
function cut(records: readonly DeliveredRecord[]): DeliveredRecord[][] {
  const parts: DeliveredRecord[][] = [];
  let bytes = Infinity;
  for (const record of records) {
    if (bytes + record.data.length > MAX_CALL_DATA_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(record);
    // 500 for the sequence number, shard id and JSON around it.
    bytes += record.data.length + 500;
  }
  return parts;
}
