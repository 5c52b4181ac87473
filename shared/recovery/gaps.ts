import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Id } from '../model/id';
import { type PartitionRef, tenantIdOf } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { metaKeys } from '../platform/keys';
import { BUCKET_PREFIX } from '../platform/names';
import { deleteItem, putItem, queryItems, type Table } from '../platform/table';
import type { DeliveredRecord } from '../stream/delivered';
import { decodeRecord, MalformedRecordError } from '../stream/record-decoder';
import {
  MalformedRedriveObjectError,
  planRedrive,
  type RedriveDependencies,
  recordsInObject,
} from './redrive';

/** Samples of one partition that no tier has: [tenant, partition, from, to], half-open, as Unix time in ms. */
type MissingRange = readonly [tenantId: Id, partition: number, fromMs: number, toMs: number];

/** What reads lack until the records of an object of the bucket have been ingested. */
export interface Gap {
  /** Arrival time of the object's first record in the stream, ms. */
  readonly sinceMs: number;
  readonly ranges: readonly MissingRange[];
}

/**
 * Stores the gaps in the meta table, next to the state of recovery:
 *
 *     pk recovery   sk gap#object key   gap: a compressed {@link Gap}
 */
export class TableGaps {
  constructor(private readonly table: Table) {}

  /** Reads the gaps by the keys of their objects. */
  async read(): Promise<Map<string, Gap>> {
    const prefix = metaKeys.gapPrefix;
    const items = await queryItems(this.table, { pk: metaKeys.recovery, prefix });
    return new Map(
      items.map(({ sk, gap }) => [
        sk!.S!.slice(prefix.length),
        JSON.parse(inflateRawSync(gap!.B!).toString('utf8')) as Gap,
      ]),
    );
  }

  /** The item stays below 400 KB: a batch has at most 10,000 records, and a range is about 25 bytes, compressed. */
  async put(key: string, gap: Gap): Promise<void> {
    await putItem(this.table, { ...metaKeys.gap(key), gap: { B: deflateRawSync(JSON.stringify(gap)) } });
  }

  async delete(key: string): Promise<void> {
    await deleteItem(this.table, metaKeys.gap(key));
  }
}

export interface GapDependencies extends Pick<RedriveDependencies, 'ledger' | 'hasTime'> {
  readonly store: Pick<RedriveDependencies['store'], 'list' | 'read'>;
  readonly gaps: Pick<TableGaps, 'read' | 'put' | 'delete'>;
}

/** Number of objects that one request lists. */
const PAGE = 1000;

/**
 * Records which samples reads lack because the records of an object have not been ingested, and forgets the gaps of
 * objects that have been ingested or removed. Two kinds of objects have a gap:
 *
 * - dead letters that no redrive has ingested yet
 * - redriven objects whose samples memory may have lost since
 *
 * If there was no time for all objects, the next call goes on.
 *
 * @param looks whether to look for dead letters even if there are no gaps yet
 */
export async function keepGaps(
  { store, ledger, gaps, hasTime }: GapDependencies,
  looks: boolean,
): Promise<void> {
  const known = await gaps.read();
  const waiting = new Set<string>();
  for (let after: string | undefined, hasMore = looks || known.size > 0; hasMore; ) {
    const page = await store.list(BUCKET_PREFIX.onFailure, after, PAGE);
    for (const { key } of page.objects) waiting.add(key);
    hasMore = page.hasMore;
    after = page.objects.at(-1)?.key ?? after;
  }
  // Read the ledger after the list, so that it has an entry for each of these objects that was redriven since.
  const [entries, progress] = await Promise.all([ledger.entries(), ledger.progress()]);
  for (const [key, entry] of entries)
    if (planRedrive(entry, progress) === 'drive') waiting.add(key);
    else waiting.delete(key);
  for (const key of known.keys()) if (!waiting.has(key)) await gaps.delete(key);
  for (const key of waiting) {
    if (known.has(key)) continue;
    if (!hasTime()) return;
    const object = await store.read(key);
    if (object !== undefined) await gaps.put(key, gapOf(key, object.body, object.metadata));
  }
}

/** Returns the gap of an object. It has no ranges if the object is malformed: nobody knows what it should hold. */
export function gapOf(key: string, body: Uint8Array, metadata: Readonly<Record<string, string>>): Gap {
  let records: readonly DeliveredRecord[] = [];
  try {
    records = recordsInObject(key, body, metadata);
  } catch (error) {
    if (!(error instanceof MalformedRedriveObjectError)) throw error;
  }
  const ranges = new Map<string, MissingRange>();
  let sinceMs = Infinity;
  for (const { arrivalMs, data } of records) {
    const found = rangeOf(data);
    if (found === undefined) continue;
    sinceMs = Math.min(sinceMs, arrivalMs);
    const [tenantId, partition, fromMs, toMs] = found;
    const id = `${tenantId} ${partition}`;
    const [, , otherFromMs, otherToMs] = ranges.get(id) ?? found;
    ranges.set(id, [tenantId, partition, Math.min(fromMs, otherFromMs), Math.max(toMs, otherToMs)]);
  }
  return { sinceMs: ranges.size === 0 ? 0 : sinceMs, ranges: [...ranges.values()] };
}

/** Returns the range of a record's samples; undefined if it has none or cannot be decoded. */
function rangeOf(data: Uint8Array): MissingRange | undefined {
  try {
    const { tenant, partition, groups } = decodeRecord(data);
    let fromMs = Infinity;
    let toMs = -Infinity;
    for (const { frames } of groups)
      for (const { timestamp } of frames) {
        fromMs = Math.min(fromMs, timestamp);
        toMs = Math.max(toMs, timestamp + 1);
      }
    return fromMs < toMs ? [tenantIdOf(tenant), partition, fromMs, toMs] : undefined;
  } catch (error) {
    if (!(error instanceof MalformedRecordError)) throw error;
    return undefined;
  }
}

/** Age of the gaps in memory from which they are read again, ms. */
const MAX_AGE_MS = 10_000;
/** Age up to which a read does not wait until the gaps have been read again, ms. */
const MAX_STALE_MS = 60_000;

/** Tells readers about the gaps. Keeps them in memory, so that a read need not wait for the table. */
export class KnownGaps {
  private copy: { readonly gaps: ReadonlyMap<string, Gap>; readonly readMs: number } | undefined;
  private reading: Promise<void> | undefined;

  constructor(
    private readonly table: Pick<TableGaps, 'read'>,
    private readonly now: () => number,
  ) {}

  /**
   * Tells whether reads of partitions lack samples of a range. Call it before the read: an object that is ingested in
   * between is then named, or its samples are read.
   *
   * @returns the earliest arrival time of samples that are missing, ms; undefined if none are
   */
  async missingSince(refs: readonly PartitionRef[], range: TimeRange): Promise<number | undefined> {
    let since: number | undefined;
    for (const { sinceMs, ranges } of (await this.fresh()).values())
      if (ranges.some((missing) => refs.some((ref) => isIn(missing, ref, range))))
        since = Math.min(sinceMs, since ?? Infinity);
    return since;
  }

  /** Returns the gaps. If the table does not answer, returns those that were read last. */
  private async fresh(): Promise<ReadonlyMap<string, Gap>> {
    const ageMs = this.copy === undefined ? Infinity : Math.abs(this.now() - this.copy.readMs);
    if (ageMs >= MAX_AGE_MS) {
      this.reading ??= this.refresh().finally(() => {
        this.reading = undefined;
      });
      if (ageMs >= MAX_STALE_MS) await this.reading.catch(() => {});
      else this.reading.catch(() => {});
    }
    return this.copy?.gaps ?? (await this.table.read());
  }

  private async refresh(): Promise<void> {
    const readMs = this.now();
    this.copy = { gaps: await this.table.read(), readMs };
  }
}

function isIn(
  [tenantId, partition, fromMs, toMs]: MissingRange,
  ref: PartitionRef,
  range: TimeRange,
): boolean {
  return (
    tenantId === ref.tenantId && partition === ref.partition && fromMs < range.toMs && toMs > range.fromMs
  );
}
