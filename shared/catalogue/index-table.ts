import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { CompactMap } from '../model/compact-map';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import type { Labels } from '../model/labels';
import { bytesOfPacked } from '../model/packed-layout';
import { type Day, dayStartMs, daysIn, type GroupId } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { splitLayout } from '../model/shape';
import { mapLimited } from '../platform/concurrency';
import { INDEX_BUCKETS, metaKeys } from '../platform/keys';
import { type Item, insertItems, queryAll, type Table } from '../platform/table';
import type { ChangeList } from './change-list';

/**
 * A UTC day, `2026-11-22`, or a month, `2026-11`. A layout is indexed under every day and month in which it
 * has samples.
 */
export type Period = string;

/** An entry of the index: a layout of a group. */
export interface IndexedLayout {
  readonly group: GroupId;
  readonly layoutId: Id;
  /** Labels that all its series share. */
  readonly common: Labels;
  /** See {@link splitLayout}. */
  readonly shapeId: Id;
  /** Length of the windows that its samples were written with, ms. */
  readonly windowMs: number;
}

/** A layout whose samples of some days are about to be written. */
export interface LayoutOfDays {
  readonly group: GroupId;
  readonly id: Id;
  /** The layout's bytes, compressed with zstd. */
  readonly packed: Uint8Array;
  readonly days: readonly Day[];
}

/** Buckets read in parallel. */
const PARALLEL = 16;
/** How long an entry outlives the retention of its samples, which may be archived late. */
const KEPT_MS = 30 * DAY_MS;

/**
 * The index of series by time: which layouts have samples in a day or month, and in windows of which length.
 * An entry has the labels that all series of the layout share, and the id of the shape: the layout without
 * these labels. Readers therefore need to fetch only one layout of each shape. The index alone tells where a
 * source's samples lie, without reading the source's catalogue.
 *
 *     pk index#tenant#period#bucket   sk group#layout#window   common: JSON of pairs   shape: id   expiresAt: seconds
 *
 * Entries never change. The writer of a sample inserts them before the sample is in memory, once in the life
 * of an instance, and then records the change in the list of changes. `ops rebuild-index` can rebuild the
 * whole index from the layouts.
 */
export class IndexTable {
  /** @param inserted keys of the entries that this instance has inserted */
  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly inserted: CompactMap,
    private readonly changes: Pick<ChangeList, 'noteIndex'>,
  ) {}

  /**
   * Inserts the entries of layouts that this instance has not inserted yet.
   *
   * @param windowMs length of the windows that their samples are written in, ms
   */
  async put(tenantId: Id, layouts: readonly LayoutOfDays[], windowMs: number): Promise<void> {
    const items: { readonly key: string; readonly item: Item }[] = [];
    for (const layout of layouts) {
      const { group, id, days } = layout;
      const periods = new Set(days.flatMap((day) => [day, monthOf(day)]));
      let entry: Item | undefined;
      for (const period of periods) {
        const key = `${period}#${group}#${id}#${windowMs}`;
        if (this.inserted.get(key) !== undefined) continue;
        entry ??= entryOf(layout);
        const expiresAt = { N: String(Math.ceil((periodEndMs(period) + this.retentionMs + KEPT_MS) / 1000)) };
        items.push({
          key,
          item: { ...metaKeys.indexed(tenantId, period, group, id, windowMs), ...entry, expiresAt },
        });
      }
    }
    if (items.length === 0) return;
    await this.insert(items.map(({ item }) => item));
    // Record the change even if all entries exist: the instance that inserted them may have ended before
    // recording it.
    await this.changes.noteIndex(tenantId);
    for (const { key } of items) this.inserted.set(key, 1);
  }

  private async insert(items: readonly Item[]): Promise<void> {
    const outcomes = await insertItems(this.table, items);
    // Entries that exist are fine as they are. Other refused entries are put singly; if that fails, so does
    // the batch.
    const refused = items.filter((_, i) => outcomes[i] === 'refused');
    for (const item of refused)
      await this.table.client.send(new PutItemCommand({ TableName: this.table.name, Item: item }));
  }

  /** Reads a period's entries. */
  async read(tenantId: Id, period: Period): Promise<IndexedLayout[]> {
    const buckets = Array.from({ length: INDEX_BUCKETS }, (_, bucket) => bucket);
    const found = await mapLimited(buckets, PARALLEL, async (bucket) => {
      const entries: IndexedLayout[] = [];
      const items = queryAll(this.table, {
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: metaKeys.index(tenantId, period, bucket) } },
      });
      for await (const { sk, common, shape } of items)
        entries.push({
          ...metaKeys.parseIndexedSort(sk!.S!),
          common: JSON.parse(common!.S!) as Labels,
          shapeId: shape!.S!,
        });
      return entries;
    });
    return found.flat();
  }
}

function entryOf(layout: LayoutOfDays): Item {
  const { common, shape } = splitLayout(bytesOfPacked(layout));
  return { common: { S: JSON.stringify(common) }, shape: { S: shape.id } };
}

/** Ranges of more days than this are looked up by month. */
const MAX_DAYS = 3;

/** Returns the periods that a range touches. */
export function periodsOf({ fromMs, toMs }: TimeRange): Period[] {
  const days = daysIn(fromMs, toMs);
  return days.length <= MAX_DAYS ? days : [...new Set(days.map(monthOf))];
}

function monthOf(day: Day): Period {
  return day.slice(0, 7);
}

/**
 * Returns the range in which a sample of a series shows that the series began before the last period of
 * `range`. It reaches from the period before the last one, or from the start of `range` if that is earlier,
 * up to the last period.
 */
export function rangeBeforeLastPeriod(range: TimeRange): TimeRange {
  const last = periodsOf(range).at(-1);
  if (last === undefined) return { fromMs: range.fromMs, toMs: range.fromMs };
  const toMs = periodStartMs(last);
  const [dayBefore] = daysIn(toMs - 1, toMs);
  const before = last.length === 10 ? dayBefore! : monthOf(dayBefore!);
  return { fromMs: Math.min(range.fromMs, periodStartMs(before)), toMs };
}

export function periodStartMs(period: Period): number {
  if (period.length === 10) return dayStartMs(period);
  const [year, month] = period.split('-').map(Number);
  return Date.UTC(year!, month! - 1, 1);
}

/** Returns the first ms after a period. */
export function periodEndMs(period: Period): number {
  if (period.length === 10) return dayStartMs(period) + DAY_MS;
  const [year, month] = period.split('-').map(Number);
  // JavaScript's months count from 0, so this is the month after.
  return Date.UTC(year!, month!, 1);
}
