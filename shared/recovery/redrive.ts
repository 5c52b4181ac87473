import { BUCKET_PREFIX } from '../platform/names';
import type { DeliveredRecord } from '../stream/delivered';

/** An object of the bucket. */
export interface SetAsideObject {
  readonly key: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

export interface SetAsidePage {
  readonly objects: readonly SetAsideObject[];
  readonly hasMore: boolean;
}

/** What was put away instead of being appended: quarantined records, and batches that the mapping gave up. */
export interface SetAside {
  /** Up to `most` objects in the order of their keys, those after a key only, and whether there are more. */
  list(prefix: string, after: string | undefined, most: number): Promise<SetAsidePage>;
  /** @returns undefined when it is not there any more */
  read(key: string): Promise<{ body: Uint8Array; metadata: Readonly<Record<string, string>> } | undefined>;
  delete(key: string): Promise<void>;
}

/** The ingester's code, once more: what was appended already is appended again, which changes nothing. */
export type IngestAgain = (records: readonly DeliveredRecord[]) => Promise<{
  /** Sequence numbers of the records that a store refused. */
  readonly failed: readonly string[];
  /** Of those that are poison still; they are in quarantine. */
  readonly quarantined: readonly string[];
}>;

export interface RedriveDependencies {
  readonly setAside: SetAside;
  readonly ingest: IngestAgain;
  /** Whether there is time for another object. */
  readonly hasTime: () => boolean;
}

export interface RedriveResult {
  /** Records that are appended now. */
  readonly records: number;
  /** Records of which no release can say what they are; they stay. */
  readonly poison: number;
  /** Objects that stay because a store did not take their records, or they cannot be read. */
  readonly failed: number;
  /** Why the last of those stays. */
  readonly error: string | undefined;
  /** The last key that was looked at when there are more, to go on after; undefined at the end. */
  readonly next: string | undefined;
}

/** An object is not as it was put away. */
export class MalformedSetAsideError extends Error {
  override readonly name = 'MalformedSetAsideError';
}

/** Of one call of the ingester, base64 of what Lambda takes at most (6 MB). */
const MAX_CALL_DATA_BYTES = 3_000_000;
const PAGE = 100;

/**
 * Drives what was put away once more through the ingester's code, with the versions that the stream gave it (design.md,
 * rule 9). An object is removed when each of its records is appended, or, of a batch that was given up, put into quarantine.
 * A crash in between drives it twice, which changes nothing. Ends at the first object that a store refuses: those after
 * it would fare the same.
 *
 * @param prefix of {@link BUCKET_PREFIX}: `quarantine` or `onFailure`
 * @param after a key at or before which nothing is looked at
 */
export async function redrive(
  { setAside, ingest, hasTime }: RedriveDependencies,
  prefix: string,
  after?: string,
): Promise<RedriveResult> {
  let records = 0;
  let poison = 0;
  let failed = 0;
  let error: string | undefined;
  let last = after;
  for (;;) {
    const { objects, hasMore } = await setAside.list(prefix, last, PAGE);
    for (const { key } of objects) {
      if (!hasTime()) return { records, poison, failed, error, next: last ?? '' };
      last = key;
      const object = await setAside.read(key);
      if (object === undefined) continue;
      let delivered: readonly DeliveredRecord[];
      try {
        delivered = recordsOf(key, object.body, object.metadata);
      } catch (cause) {
        if (!(cause instanceof MalformedSetAsideError)) throw cause;
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
      // A poison record is its own object, which the ingester has just put there again.
      if (quarantined === 0 || prefix !== BUCKET_PREFIX.quarantine) await setAside.delete(key);
    }
    if (!hasMore) return { records, poison, failed, error, next: undefined };
  }
}

/** The records of an object, by what its key says it is. */
export function recordsOf(
  key: string,
  body: Uint8Array,
  metadata: Readonly<Record<string, string>>,
): DeliveredRecord[] {
  return key.startsWith(BUCKET_PREFIX.quarantine)
    ? [quarantinedRecord(key, body, metadata)]
    : givenUp(key, body);
}

/** `quarantine/<shard>/<sequence number>`, the arrival time in the metadata. */
function quarantinedRecord(
  key: string,
  data: Uint8Array,
  { arrival }: Readonly<Record<string, string>>,
): DeliveredRecord {
  const [, shardId, sequenceNumber] = /^quarantine\/([^/]+)\/(\d+)$/.exec(key) ?? [];
  const arrivalMs = Number(arrival);
  if (shardId === undefined || sequenceNumber === undefined || arrival === undefined || !isTime(arrivalMs))
    throw new MalformedSetAsideError(`${key} is not as quarantine writes it`);
  return { shardId, sequenceNumber, arrivalMs, data };
}

/**
 * What Lambda writes when it gives a batch up: the event, as it invoked the function with, is text in `payload`.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html
 */
function givenUp(key: string, body: Uint8Array): DeliveredRecord[] {
  const malformed = (cause?: unknown) =>
    new MalformedSetAsideError(`${key} is not a batch that a mapping gave up`, { cause });
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

/** Parts that fit into a call, in order; a record is never larger than one. */
function cut(records: readonly DeliveredRecord[]): DeliveredRecord[][] {
  const parts: DeliveredRecord[][] = [];
  let bytes = Infinity;
  for (const record of records) {
    if (bytes + record.data.length > MAX_CALL_DATA_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(record);
    // Its numbers and names take some too.
    bytes += record.data.length + 500;
  }
  return parts;
}
