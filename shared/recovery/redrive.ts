import { bucketKeys } from '../platform/keys';
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

/**
 * The objects in the bucket that can be redriven: quarantined records, and dead letters (batches that the
 * event source mapping gave up).
 */
export interface RedriveStore {
  /** Lists up to `most` objects in key order, starting after the key `after`. */
  list(prefix: string, after: string | undefined, most: number): Promise<RedrivePage>;
  /** @returns undefined if the object is gone */
  read(key: string): Promise<{ body: Uint8Array; metadata: Readonly<Record<string, string>> } | undefined>;
  delete(key: string): Promise<void>;
}

/** Runs the ingester's code on records once more. Repeating an append changes nothing. */
export type IngestAgain = (records: readonly DeliveredRecord[]) => Promise<{
  /** Sequence numbers of records that a store refused. */
  readonly failed: readonly string[];
  /** Sequence numbers of records that still cannot be decoded; they are in quarantine. */
  readonly quarantined: readonly string[];
}>;

/** Written once an object's records have been appended to memory. */
export interface RedriveMark {
  /** The highest watermark of any shard after the append, ms. */
  readonly watermarkMs: number;
  /** How many losses had been noticed before the append. */
  readonly notices: number;
}

/** The progress of the flushers and of the ingester. */
export interface RedriveProgress {
  /** Everything that arrived in the stream earlier has left memory, ms; 0 when unknown. */
  readonly flushedMs: number;
  /** The highest watermark of any shard, ms. */
  readonly watermarkMs: number;
  /** How many losses have been noticed so far. */
  readonly notices: number;
}

/** Remembers the objects whose records have been appended to memory, and that have not been removed yet. */
export interface RedriveLedger {
  marks(): Promise<ReadonlyMap<string, RedriveMark>>;
  put(key: string, mark: RedriveMark): Promise<void>;
  delete(key: string): Promise<void>;
  progress(): Promise<RedriveProgress>;
}

export interface RedriveDependencies {
  readonly store: RedriveStore;
  readonly ingest: IngestAgain;
  readonly ledger: RedriveLedger;
  /** Whether there is time for another object. */
  readonly hasTime: () => boolean;
}

export interface RedriveResult {
  /** Records that were appended. */
  readonly records: number;
  /** Records that still cannot be decoded; they stay in quarantine. */
  readonly poison: number;
  /** Objects that stay until the samples appended from them have left memory. */
  readonly waiting: number;
  /** Objects that were removed. */
  readonly removed: number;
  /** Objects that stay because a store refused their records or they are malformed. */
  readonly failed: number;
  /** A sentence for each failed object; at most the first hundred. */
  readonly errors: readonly string[];
  /** The last key that was looked at; pass it as `after` to continue. Undefined when no object follows. */
  readonly next: string | undefined;
}

/** An object is neither a quarantined record nor a dead letter. */
export class MalformedRedriveObjectError extends Error {
  override readonly name = 'MalformedRedriveObjectError';
}

/** Most data bytes of one replayer call: in base64 they stay below Lambda's limit of 6 MB. */
const MAX_CALL_DATA_BYTES = 3_000_000;
const PAGE = 100;
const MAX_ERRORS = 100;

/**
 * Decides whether to ingest an object's records, to keep the object, or to remove it.
 *
 * After the append, the samples are only in memory, and the stream may have forgotten their records. If
 * memory then loses the samples, only the object can bring them back. So the object stays until the samples
 * have left memory.
 *
 * That is certain once the flushers' watermark exceeds `mark.watermarkMs`, the highest shard watermark just
 * after the append. A flusher can write such a watermark only if it began after the append and found no
 * sample in memory that arrived as early as those of the object.
 *
 * If a loss was noticed since the append, memory may have lost the samples, and the object is driven again.
 */
export function planRedrive(
  mark: RedriveMark | undefined,
  { flushedMs, notices }: Pick<RedriveProgress, 'flushedMs' | 'notices'>,
): 'drive' | 'wait' | 'remove' {
  if (mark === undefined || mark.notices !== notices) return 'drive';
  return flushedMs > mark.watermarkMs ? 'remove' : 'wait';
}

/**
 * Runs quarantined records or dead letters through the ingester's code again, with the versions that the
 * stream gave them (DESIGN.md, rule 9). An object that is malformed, or whose records a store refuses, stays
 * and does not stop the others. {@link planRedrive} decides when an object is removed. After a crash, an
 * object may be driven twice, which changes nothing.
 *
 * @param prefix {@link BUCKET_PREFIX}'s `quarantine` or `onFailure`
 * @param after start after this key
 */
export async function redrive(
  { store, ingest, ledger, hasTime }: RedriveDependencies,
  prefix: string,
  after?: string,
): Promise<RedriveResult> {
  const [marks, progress] = await Promise.all([ledger.marks(), ledger.progress()]);
  const errors: string[] = [];
  let failed = 0;
  let records = 0;
  let poison = 0;
  let waiting = 0;
  let removed = 0;
  for (const [key, mark] of marks) {
    if (!hasTime()) break;
    if (planRedrive(mark, progress) !== 'remove') continue;
    // Delete the mark first. An object without a mark is only driven again, but a mark without an object
    // would never go away.
    await ledger.delete(key);
    await store.delete(key);
    removed++;
  }
  let last = after;
  for (;;) {
    const { objects, hasMore } = await store.list(prefix, last, PAGE);
    for (const { key } of objects) {
      if (!hasTime()) return { records, poison, waiting, removed, failed, errors, next: last ?? '' };
      last = key;
      if (planRedrive(marks.get(key), progress) === 'wait') {
        waiting++;
        continue;
      }
      const driven = await driveObject({ store, ingest }, key);
      if (driven === undefined) continue;
      if ('error' in driven) {
        failed++;
        if (errors.length < MAX_ERRORS) errors.push(driven.error);
        continue;
      }
      records += driven.records;
      poison += driven.poison;
      // The ingester has just put a poison record into quarantine again, under the same key.
      if (driven.poison > 0 && prefix === BUCKET_PREFIX.quarantine) continue;
      if (driven.records === 0) {
        await store.delete(key);
        removed++;
        continue;
      }
      const { watermarkMs } = await ledger.progress();
      await ledger.put(key, { watermarkMs, notices: progress.notices });
      waiting++;
    }
    if (!hasMore) return { records, poison, waiting, removed, failed, errors, next: undefined };
  }
}

/** Ingests an object's records. @returns undefined if the object is gone */
async function driveObject(
  { store, ingest }: Pick<RedriveDependencies, 'store' | 'ingest'>,
  key: string,
): Promise<{ readonly records: number; readonly poison: number } | { readonly error: string } | undefined> {
  const object = await store.read(key);
  if (object === undefined) return undefined;
  let delivered: readonly DeliveredRecord[];
  try {
    delivered = recordsInObject(key, object.body, object.metadata);
  } catch (error) {
    if (!(error instanceof MalformedRedriveObjectError)) throw error;
    return { error: error.message };
  }
  let poison = 0;
  for (const part of cut(delivered)) {
    const { failed, quarantined } = await ingest(part);
    if (failed.length > 0)
      return { error: `${key}: a store refused ${failed.length} of ${part.length} records` };
    poison += quarantined.length;
  }
  return { records: delivered.length - poison, poison };
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

/**
 * Decodes a quarantined record. Its key is `quarantine/<shard>/<sequence number>`; its arrival time is in the
 * metadata.
 */
function quarantinedRecord(
  key: string,
  data: Uint8Array,
  { arrival }: Readonly<Record<string, string>>,
): DeliveredRecord {
  const place = bucketKeys.parseQuarantine(key);
  const arrivalMs = Number(arrival);
  if (place === undefined || arrival === undefined || !isTime(arrivalMs))
    throw new MalformedRedriveObjectError(
      `${key} is not a quarantined record: its key or its arrival time is wrong`,
    );
  return { ...place, arrivalMs, data };
}

/**
 * Decodes the records of a dead letter. Lambda writes the function's event, as text, into the object's field
 * `payload`.
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

/** Divides records into calls within the limit, in order. A single record always fits. */
function cut(records: readonly DeliveredRecord[]): DeliveredRecord[][] {
  const parts: DeliveredRecord[][] = [];
  let bytes = Infinity;
  for (const record of records) {
    if (bytes + record.data.length > MAX_CALL_DATA_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(record);
    // 500 bytes for the sequence number, the shard id and the JSON around them.
    bytes += record.data.length + 500;
  }
  return parts;
}
