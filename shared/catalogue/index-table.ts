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

/** A UTC day, `2026-11-22`, or a month, `2026-11`: layouts are indexed in each that they have samples of. */
export type Period = string;

/** A layout of a group as the index has it. */
export interface IndexedLayout {
  readonly group: GroupId;
  readonly layoutId: Id;
  /** Labels that all its series have. */
  readonly common: Labels;
  /** See {@link splitLayout}. */
  readonly shapeId: Id;
  /** Length of the windows that its samples were written with, ms. */
  readonly windowMs: number;
}

/** A layout, of which samples of some days are about to be written. */
export interface LayoutOfDays {
  readonly group: GroupId;
  readonly id: Id;
  /** zstd of its bytes. */
  readonly packed: Uint8Array;
  readonly days: readonly Day[];
}

/** Buckets read in parallel. */
const PARALLEL = 16;
/** An entry outlives its samples' retention by this: they may be archived late. */
const KEPT_MS = 30 * DAY_MS;

/**
 * The index of series by time: which layouts have samples of a day, and of a month, in windows of which length. An entry has the
 * labels that all series of the layout share, and the id of the shape that is left without them, so readers fetch one layout of each
 * shape. The index alone tells where a source's samples lie; a reader need not ask the source's catalogue.
 *
 *     pk index#tenant#period#bucket   sk group#layout#window   common: JSON of pairs   shape: id   expiresAt: seconds
 *
 * Entries never change. The writer of a sample inserts them before the sample is in memory, once in the life of an instance, and then
 * notes it in the list of changes; all of it can be rebuilt from the layouts (`ops rebuild-index`).
 */
export class IndexTable {
  /** @param inserted what this instance has inserted, by period, group and layout */
  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly inserted: CompactMap,
    private readonly changes: Pick<ChangeList, 'noteIndex'>,
  ) {}

  /**
   * Inserts the entries of layouts that this instance has not inserted.
   *
   * @param windowMs length of the windows that their samples are written with, ms
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
    // Note it even if all entries were there: the instance that inserted them may have ended before it noted the change.
    await this.changes.noteIndex(tenantId);
    for (const { key } of items) this.inserted.set(key, 1);
  }

  private async insert(items: readonly Item[]): Promise<void> {
    const outcomes = await insertItems(this.table, items);
    // An entry that is there is as good. Whatever else was refused is put by itself, and fails the batch if it must.
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

/** The periods that a range touches. */
export function periodsOf({ fromMs, toMs }: TimeRange): Period[] {
  const days = daysIn(fromMs, toMs);
  return days.length <= MAX_DAYS ? days : [...new Set(days.map(monthOf))];
}

function monthOf(day: Day): Period {
  return day.slice(0, 7);
}

/**
 * The range whose samples show that a series began before the last period of `range`: from a period before that one, or from
 * the start of `range` if that is earlier.
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

/** The first ms after a period. */
export function periodEndMs(period: Period): number {
  if (period.length === 10) return dayStartMs(period) + DAY_MS;
  const [year, month] = period.split('-').map(Number);
  // Months count from 0 here, so this is the next one.
  return Date.UTC(year!, month!, 1);
}
