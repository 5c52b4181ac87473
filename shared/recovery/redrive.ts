import { bucketKeys } from '../platform/keys';
import { BUCKET_PREFIX } from '../platform/names';
import type { DeliveredRecord } from '../stream/record-decoder';
import type { S3RedriveStore } from './redrive-bucket';
import type { RedriveEntry, RedriveProgress, TableRedriveLedger } from './redrive-ledger';
import { ARRIVAL_SLACK_MS } from './watermarks';

/** Ingests records again, with the code of the ingester. Appending a record twice changes nothing. */
export type IngestAgain = (records: readonly DeliveredRecord[]) => Promise<{
  /** Sequence numbers of the records that were not appended. */
  readonly failed: readonly string[];
  /** Whether they failed only because a store was down, so that a later try may succeed. @default false */
  readonly isDown?: boolean;
  /** Why they failed. @default unknown */
  readonly reason?: string;
  /** Sequence numbers of the records that still cannot be decoded; they are in quarantine. */
  readonly quarantined: readonly string[];
}>;

export interface RedriveDependencies {
  readonly store: Pick<S3RedriveStore, 'list' | 'read' | 'delete'>;
  readonly ingest: IngestAgain;
  readonly ledger: Pick<TableRedriveLedger, 'entries' | 'put' | 'delete' | 'progress'>;
  /** Called before each object. The redrive ends if it returns false. */
  readonly hasTime: () => boolean;
}

export interface RedriveResult {
  readonly records: number;
  /** Number of records that still cannot be decoded; they stay in quarantine. */
  readonly poison: number;
  /** Number of objects kept until the samples appended from them have left memory. */
  readonly waiting: number;
  readonly removed: number;
  /** Number of objects kept because a store was down. The next redrive tries them again. */
  readonly unanswered: number;
  /** Number of objects kept because a store refused their records, or because they are malformed. */
  readonly failed: number;
  /** A sentence for each of the first hundred objects that are `unanswered` or `failed`. */
  readonly errors: readonly string[];
  /** Key of the last object of this call, to pass as `after` to continue. Undefined if no object follows it. */
  readonly next: string | undefined;
}

/** An object in the bucket is neither a quarantined record nor a dead letter. */
export class MalformedRedriveObjectError extends Error {
  override readonly name = 'MalformedRedriveObjectError';
}

/** Maximum size of the records in one call of the replayer, in bytes. In base64, it is below Lambda's limit of 6 MB. */
const MAX_CALL_DATA_BYTES = 3_000_000;
/** Number of objects that one request lists. */
const PAGE = 100;
const MAX_ERRORS = 100;
/** Number of steps after which a refused object no longer keeps a loss open. Recovery takes a step each minute. */
const MAX_REFUSALS = 15;

/**
 * Decides what to do with an object: `drive` means to ingest its records, `wait` to keep it for now, `remove` to delete
 * it.
 *
 * Just after the object's records have been appended, their samples are only in memory, and the stream may no longer
 * have the records. If memory then loses the samples, only the object can restore them. So the object stays until the
 * samples have left memory.
 *
 * `appended.watermarkMs` is the highest watermark of any shard just after that append. The samples have left memory
 * once `flushedUntilMs` is more than {@link ARRIVAL_SLACK_MS} later. A flusher writes so late a time only if it started
 * after the append, and found no sample in memory that arrived as early as the object's samples. Watermarks are arrival
 * times, which can go back; the slack allows for that.
 *
 * If `notices` has changed since the append, memory may have lost the samples. Then the records are ingested again.
 *
 * @param entry undefined if the object's records have not been ingested yet
 */
export function planRedrive(
  entry: Pick<RedriveEntry, 'appended'> | undefined,
  { flushedUntilMs, notices }: Pick<RedriveProgress, 'flushedUntilMs' | 'notices'>,
): 'drive' | 'wait' | 'remove' {
  const appended = entry?.appended;
  if (appended === undefined || appended.notices !== notices) return 'drive';
  return flushedUntilMs > appended.watermarkMs + ARRIVAL_SLACK_MS ? 'remove' : 'wait';
}

/**
 * Ingests quarantined records or dead letters again, with the versions that the stream gave them (DESIGN.md,
 * rule 9). Also removes the objects whose samples have left memory ({@link planRedrive}). Objects that are
 * malformed, or whose records a store refuses, are kept, and the other objects are still processed. After a
 * crash, an object may be ingested twice, which changes nothing.
 *
 * @param prefix kind of the objects: `quarantine` or `onFailure` of {@link BUCKET_PREFIX}
 * @param after key after which to begin; undefined to begin with the first object
 */
export async function redrive(
  { store, ingest, ledger, hasTime }: RedriveDependencies,
  prefix: string,
  after?: string,
): Promise<RedriveResult> {
  const [entries, progress] = await Promise.all([ledger.entries(), ledger.progress()]);
  const errors: string[] = [];
  let unanswered = 0;
  let failed = 0;
  let records = 0;
  let poison = 0;
  let waiting = 0;
  let removed = 0;
  for (const [key, entry] of entries) {
    if (!hasTime()) break;
    if (planRedrive(entry, progress) !== 'remove') continue;
    // Delete the entry first. After a crash in between, an object without an entry is only ingested again. An
    // entry without an object would stay until it expires.
    await ledger.delete(key);
    await store.delete(key);
    removed++;
  }
  const resultOf = () => ({ records, poison, waiting, removed, unanswered, failed, errors });
  let last = after;
  for (;;) {
    const { objects, hasMore } = await store.list(prefix, last, PAGE);
    for (const { key } of objects) {
      if (!hasTime()) return { ...resultOf(), next: last ?? '' };
      last = key;
      const entry = entries.get(key);
      if (planRedrive(entry, progress) === 'wait') {
        waiting++;
        continue;
      }
      // Write an entry before the append. If recovery is cut off just after the append, and memory then loses
      // the samples, redriveLost finds this entry and ingests the object again before the loss is closed.
      if (entry === undefined) await ledger.put(key, { appended: undefined, refusals: 0 });
      const driven = await driveObject({ store, ingest }, key);
      const isIngested = driven !== undefined && 'records' in driven && driven.records > 0;
      if (entry === undefined && !isIngested) await ledger.delete(key);
      if (driven === undefined) continue;
      if ('error' in driven) {
        if (driven.isDown) unanswered++;
        else failed++;
        if (errors.length < MAX_ERRORS) errors.push(driven.error);
        continue;
      }
      records += driven.records;
      poison += driven.poison;
      // Keep the object: the ingester has just put its record into quarantine again, under the same key.
      if (isStillPoison(key, driven)) continue;
      if (driven.records === 0) {
        await store.delete(key);
        removed++;
        continue;
      }
      const { watermarkMs } = await ledger.progress();
      await ledger.put(key, { appended: { watermarkMs, notices: progress.notices }, refusals: 0 });
      waiting++;
    }
    if (!hasMore) return { ...resultOf(), next: undefined };
  }
}

/**
 * Returns the keys of the objects that {@link redriveLost} has yet to ingest. An open loss is closed only after that.
 */
export async function lostObjects({ ledger }: Pick<RedriveDependencies, 'ledger'>): Promise<string[]> {
  const [entries, { notices }] = await Promise.all([ledger.entries(), ledger.progress()]);
  return [...entries].filter(([, entry]) => keepsLossOpen(entry, notices)).map(([key]) => key);
}

function keepsLossOpen(entry: RedriveEntry, notices: number): boolean {
  return entry.appended?.notices !== notices && entry.refusals < MAX_REFUSALS;
}

/**
 * Re-ingests those objects in the ledger whose samples memory may have lost. The replay that repairs the loss does
 * not restore these samples if the stream no longer has their records.
 *
 * An object that a store refused in {@link MAX_REFUSALS} steps is left to the next {@link redrive}. Otherwise, one
 * object could keep a loss open forever, and the reads of all tenants would keep failing. A store that does not answer
 * does not count as having refused the object.
 *
 * @returns false if there was no time for all of them; the next call continues
 * @throws if an object cannot be ingested, but only after trying all other objects that there was time for
 */
export async function redriveLost({ store, ingest, ledger, hasTime }: RedriveDependencies): Promise<boolean> {
  const [entries, { notices }] = await Promise.all([ledger.entries(), ledger.progress()]);
  const errors: string[] = [];
  let isDone = true;
  for (const [key, entry] of entries) {
    if (!keepsLossOpen(entry, notices)) continue;
    if (!hasTime()) {
      isDone = false;
      break;
    }
    try {
      const driven = await driveObject({ store, ingest }, key);
      if (driven === undefined || (!('error' in driven) && isStillPoison(key, driven)))
        // Either the object no longer exists, or its record is in quarantine again. In both cases, memory has
        // none of its samples.
        await ledger.delete(key);
      else if ('error' in driven) {
        errors.push(driven.error);
        if (!driven.isDown) await ledger.put(key, { ...entry, refusals: entry.refusals + 1 });
      } else {
        const { watermarkMs } = await ledger.progress();
        await ledger.put(key, { appended: { watermarkMs, notices }, refusals: 0 });
      }
    } catch (error) {
      errors.push(`${key}: ${(error as Error).message}`);
    }
  }
  if (errors.length > 0) throw new Error(`${errors.length} objects were not redriven; ${errors[0]}`);
  return isDone;
}

/** Whether the record of a quarantined object still cannot be decoded. If so, the ingester has quarantined it again. */
function isStillPoison(key: string, { poison }: { readonly poison: number }): boolean {
  return poison > 0 && key.startsWith(BUCKET_PREFIX.quarantine);
}

/**
 * Ingests the records of an object.
 *
 * @returns how many records were ingested and how many cannot be decoded; or an error, and whether a store
 *   that is down caused it; undefined if the object no longer exists
 */
async function driveObject(
  { store, ingest }: Pick<RedriveDependencies, 'store' | 'ingest'>,
  key: string,
): Promise<
  | { readonly records: number; readonly poison: number }
  | { readonly error: string; readonly isDown: boolean }
  | undefined
> {
  const object = await store.read(key);
  if (object === undefined) return undefined;
  let delivered: readonly DeliveredRecord[];
  try {
    delivered = recordsInObject(key, object.body, object.metadata);
  } catch (error) {
    if (!(error instanceof MalformedRedriveObjectError)) throw error;
    return { error: error.message, isDown: false };
  }
  let poison = 0;
  for (const part of cut(delivered)) {
    const { failed, isDown = false, reason = 'see logs replayer', quarantined } = await ingest(part);
    const what = isDown ? 'a store is down or full for' : 'a store refused';
    if (failed.length > 0)
      return { error: `${key}: ${what} ${failed.length} of ${part.length} records: ${reason}`, isDown };
    poison += quarantined.length;
  }
  return { records: delivered.length - poison, poison };
}

/**
 * Decodes the records in an object. The object's key shows whether it is a quarantined record or a dead letter.
 *
 * @throws {MalformedRedriveObjectError}
 */
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
 * Decodes a quarantined record. The object's key is `quarantine/<shard>/<sequence number>`, and its metadata
 * holds the record's arrival time.
 */
function quarantinedRecord(
  key: string,
  data: Uint8Array,
  { arrival }: Readonly<Record<string, string>>,
): DeliveredRecord {
  const parsed = bucketKeys.parseQuarantine(key);
  const arrivalMs = Number(arrival);
  if (parsed === undefined || arrival === undefined || !isTime(arrivalMs))
    throw new MalformedRedriveObjectError(
      `${key} is not a quarantined record: its key or its arrival time is wrong`,
    );
  return { ...parsed, arrivalMs, data };
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

/**
 * Divides records, in order, into calls of at most {@link MAX_CALL_DATA_BYTES}. A single record always fits.
 */
function cut(records: readonly DeliveredRecord[]): DeliveredRecord[][] {
  const parts: DeliveredRecord[][] = [];
  let bytes = Infinity;
  for (const record of records) {
    if (bytes + record.data.length > MAX_CALL_DATA_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(record);
    // Add 500 bytes for the sequence number, the shard id and the JSON around them.
    bytes += record.data.length + 500;
  }
  return parts;
}
