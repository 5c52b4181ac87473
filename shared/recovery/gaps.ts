import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Id } from '../model/id';
import { type PartitionRef, partitionKeyOf, tenantIdOf } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { metaKeys } from '../platform/keys';
import { BUCKET_PREFIX } from '../platform/names';
import { deleteItem, putItem, queryItems, type Table } from '../platform/table';
import { type DeliveredRecord, decodeRecord, MalformedRecordError } from '../stream/record-decoder';
import {
  MalformedRedriveObjectError,
  planRedrive,
  type RedriveDependencies,
  recordsInObject,
} from './redrive';

/** Samples of one partition that no tier has: [tenant, partition, from, to], half-open, as Unix time in ms. */
type MissingRange = readonly [tenantId: Id, partition: number, fromMs: number, toMs: number];

/** The samples that reads lack until the records of an object, such as a dead letter, have been ingested. */
export interface Gap {
  /** Arrival time of the object's first record in the stream, in ms. */
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

  /** Reads all gaps, each keyed by the key of its object. */
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

  /**
   * Writes a gap. Its item stays below 400 KB: a batch has at most 10,000 records, and each range takes about 25 bytes,
   * compressed.
   */
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
 * Updates the list of gaps. Each object whose records have not been ingested gets a gap, which says which samples
 * reads lack. Gaps of objects that have since been ingested or removed are deleted. Two kinds of objects have a gap:
 *
 * - dead letters that no redrive has ingested yet
 * - redriven objects whose samples memory may have lost since
 *
 * If there was no time for all objects, the next call continues.
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
  // Read the ledger after listing the objects. It then has an entry for every object that was redriven in the
  // meantime.
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

/**
 * Returns the gap of an object. It has no ranges if the object is malformed: nobody knows which samples it should hold.
 */
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
    const partitionKey = partitionKeyOf({ tenantId, partition });
    const [, , otherFromMs, otherToMs] = ranges.get(partitionKey) ?? found;
    ranges.set(partitionKey, [tenantId, partition, Math.min(fromMs, otherFromMs), Math.max(toMs, otherToMs)]);
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

/** Age at which an instance replaces its copy of the gaps with a fresh one, in ms. */
const MAX_AGE_MS = 10_000;

/**
 * For each partition ({@link partitionKeyOf}), the ranges in which reads lack samples. Each range comes with the
 * arrival time of the first record in the gap's object.
 */
type MissingRanges = ReadonlyMap<string, readonly (TimeRange & Pick<Gap, 'sinceMs'>)[]>;

/** Tells readers about the gaps. Keeps a copy of them in memory, so that few reads wait for the table. */
export class KnownGaps {
  /** The result of the last attempt to read the table that succeeded. */
  private copy: MissingRanges | undefined;
  /** The last attempt to read the table, which may not have ended or may have failed. */
  private last: { readonly ranges: Promise<MissingRanges>; readonly readMs: number } | undefined;

  constructor(
    private readonly table: Pick<TableGaps, 'read'>,
    private readonly now: () => number,
  ) {}

  /**
   * Checks whether reads of partitions lack samples in a range. Call it before the read. If an object is ingested
   * between this call and the read, either the read returns its samples, or this call has reported them as missing.
   *
   * @returns the earliest arrival time of samples that are missing, in ms; undefined if none are
   */
  async missingSince(
    refs: readonly PartitionRef[],
    { fromMs, toMs }: TimeRange,
  ): Promise<number | undefined> {
    const ranges = await this.fresh();
    if (ranges.size === 0) return undefined;
    let since: number | undefined;
    for (const ref of refs)
      for (const missing of ranges.get(partitionKeyOf(ref)) ?? [])
        if (missing.fromMs < toMs && missing.toMs > fromMs)
          since = Math.min(missing.sinceMs, since ?? Infinity);
    return since;
  }

  /** Starts to replace the copy of the gaps if it is old, so that a later read waits less for them. */
  prepare(): void {
    this.fresh().catch(() => {});
  }

  /**
   * Returns the ranges of the gaps. If the table does not answer, returns the last copy, and tries the table again
   * after {@link MAX_AGE_MS}.
   *
   * @throws if the table does not answer and was never read
   */
  private async fresh(): Promise<MissingRanges> {
    const nowMs = this.now();
    // Do not wait for an attempt that began long ago: Lambda may have frozen this instance since, and the attempt would
    // return gaps as old as itself.
    if (this.last === undefined || Math.abs(nowMs - this.last.readMs) >= MAX_AGE_MS)
      this.last = { ranges: this.table.read().then(rangesOf), readMs: nowMs };
    try {
      this.copy = await this.last.ranges;
    } catch (error) {
      if (this.copy !== undefined) return this.copy;
      this.last = undefined;
      throw error;
    }
    return this.copy;
  }
}

function rangesOf(gaps: ReadonlyMap<string, Gap>): MissingRanges {
  const found = new Map<string, (TimeRange & Pick<Gap, 'sinceMs'>)[]>();
  for (const { sinceMs, ranges } of gaps.values())
    for (const [tenantId, partition, fromMs, toMs] of ranges) {
      const key = partitionKeyOf({ tenantId, partition });
      const missing = found.get(key);
      if (missing === undefined) found.set(key, [{ fromMs, toMs, sinceMs }]);
      else missing.push({ fromMs, toMs, sinceMs });
    }
  return found;
}
