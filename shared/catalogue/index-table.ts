import type { Cache } from '../model/cache';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import type { Labels } from '../model/labels';
import { bytesOfPacked, type PackedLayout } from '../model/packed-layout';
import { type Day, dayStartMs, daysIn, type GroupId } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { shapeOf } from '../model/shape';
import { mapLimited } from '../platform/concurrency';
import { INDEX_BUCKETS, metaKeys } from '../platform/keys';
import { type Item, insertItems, putItem, queryAll, type Table } from '../platform/table';
import type { ChangeList } from './change-list';

/**
 * A UTC day, such as `2026-11-22`, or a UTC month, such as `2026-11`. A layout has index entries for each day
 * and for each month in which it has samples.
 */
export type Period = string;

/** An entry of the index of series. It says that a layout of a group has samples in a certain period. */
export interface IndexedLayout {
  readonly group: GroupId;
  readonly layoutId: Id;
  /** Labels that all series of the layout share, with their common values. */
  readonly common: Labels;
  /** Id of the layout's shape: the layout without the common labels (model/shape.ts). */
  readonly shapeId: Id;
  /** Length of the windows in which the samples were written, in ms. */
  readonly windowMs: number;
}

/**
 * The index of series by time. It shows which layouts have samples in a day or month, so that a read of many sources
 * does not have to read the catalogue of each source. An entry contains the labels that all series of the layout share,
 * and the id of its shape: the layout without these labels. Hosts with the same agent have layouts of the same shape,
 * so a reader fetches one layout for each shape, not one for each host.
 *
 *     pk index#tenant#period#bucket   sk group#layout#window   common: JSON of pairs   shape: id   expiresAt: seconds
 *
 * Entries never change. The ingester inserts entries before their samples are in memory, and then records the change in
 * the list of changes. An instance inserts each entry once. `ops rebuild-index` rebuilds the whole index from the
 * catalogue's layouts.
 */
export class IndexTable {
  constructor(private readonly table: Table) {}

  async read(tenantId: Id, period: Period): Promise<IndexedLayout[]> {
    const buckets = Array.from({ length: INDEX_BUCKETS }, (_, bucket) => bucket);
    const found = await mapLimited(buckets, INDEX_BUCKETS, async (bucket) => {
      const entries: IndexedLayout[] = [];
      // Parse items as they arrive: the unparsed items would take more memory than the entries.
      for await (const { sk, common, shape } of queryAll(this.table, {
        pk: metaKeys.index(tenantId, period, bucket),
      }))
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

/** A layout in which samples of `days` are about to be written. */
export interface LayoutOfDays extends Pick<PackedLayout, 'id' | 'packed' | 'bytes'> {
  readonly group: GroupId;
  readonly days: readonly Day[];
}

/** How long an entry is kept after the retention of its period has ended, in ms: a margin for late archiving. */
const KEPT_MS = 30 * DAY_MS;

/** Inserts entries into the index of series. */
export class IndexWriter {
  /** @param inserted remembers the keys of the entries that this instance has inserted */
  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly inserted: Cache<number>,
    private readonly changes: Pick<ChangeList, 'noteIndex'>,
  ) {}

  /**
   * Inserts the entries of layouts that this instance has not inserted yet.
   *
   * @param windowMs length, in ms, of the windows in which the layouts' samples are written
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
    // Record the change even if all entries existed: the instance that inserted them may have ended before it
    // could record the change.
    await this.changes.noteIndex(tenantId);
    for (const { key } of items) this.inserted.set(key, 1);
  }

  private async insert(items: readonly Item[]): Promise<void> {
    const outcomes = await insertItems(this.table, items);
    // Leave existing entries unchanged. Put each entry that DynamoDB refused separately; if such a put fails, the
    // caller gets the error.
    const refused = items.filter((_, i) => outcomes[i] === 'refused');
    for (const item of refused) await putItem(this.table, item);
  }
}

function entryOf(layout: LayoutOfDays): Item {
  const { common, shape } = shapeOf(bytesOfPacked(layout));
  return { common: { S: JSON.stringify(common) }, shape: { S: shape.id } };
}

/** Maximum number of days in a range that is looked up by day. A longer range is looked up by month. */
const MAX_DAYS = 3;

/** Returns the periods whose entries cover a range: its days if there are at most {@link MAX_DAYS}, else its months. */
export function periodsOf({ fromMs, toMs }: TimeRange): Period[] {
  const days = daysIn(fromMs, toMs);
  return days.length <= MAX_DAYS ? days : [...new Set(days.map(monthOf))];
}

function monthOf(day: Day): Period {
  return day.slice(0, 7);
}

export function periodStartMs(period: Period): number {
  if (period.length === 10) return dayStartMs(period);
  const [year, month] = period.split('-').map(Number);
  return Date.UTC(year!, month! - 1, 1);
}

/** Returns the time at which a period ends and the next one begins, as Unix time in ms. */
export function periodEndMs(period: Period): number {
  if (period.length === 10) return dayStartMs(period) + DAY_MS;
  const [year, month] = period.split('-').map(Number);
  // JavaScript numbers months from 0, so this is the following month.
  return Date.UTC(year!, month!, 1);
}
