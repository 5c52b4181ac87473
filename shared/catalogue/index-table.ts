import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { CompactMap } from '../model/compact-map';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import type { Labels } from '../model/labels';
import { unpackLayout } from '../model/packed-layout';
import { type Day, dayStartMs, daysIn, type GroupId } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { splitLayout } from '../model/shape';
import { mapLimited } from '../platform/concurrency';
import { INDEX_BUCKETS, metaKeys } from '../platform/keys';
import { type Item, insertItems, queryAll, type Table } from '../platform/table';

/** A UTC day, `2026-11-22`, or a month, `2026-11`: layouts are indexed in each that they have samples of. */
export type Epoch = string;

/** A layout of a group as the index has it. */
export interface IndexedLayout {
  readonly group: GroupId;
  readonly layoutId: Id;
  /** Labels that all its series have. */
  readonly common: Labels;
  /** See {@link splitLayout}. */
  readonly shapeId: Id;
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
 * The index of series by time: which layouts have samples of a day, and of a month. An entry has the labels that all series
 * of the layout share, and the id of the shape that is left without them, so readers fetch one layout of each shape.
 *
 *     pk index#tenant#epoch#bucket   sk group#layout   common: JSON of pairs   shape: id   expiresAt: seconds
 *
 * Entries never change. The writer of a sample inserts them before the sample is in memory, once in the life of an instance;
 * all of it can be rebuilt from the layouts (`ops rebuild-index`).
 */
export class IndexTable {
  /** @param inserted what this instance has inserted, by epoch, group and layout */
  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly inserted: CompactMap,
  ) {}

  /** Inserts the entries of layouts that this instance has not inserted. */
  async put(tenantId: Id, layouts: readonly LayoutOfDays[]): Promise<void> {
    const items: { readonly key: string; readonly item: Item }[] = [];
    for (const layout of layouts) {
      const { group, id, days } = layout;
      const sort = `${group}#${id}`;
      const epochs = new Set(days.flatMap((day) => [day, monthOf(day)]));
      let entry: Item | undefined;
      for (const epoch of epochs) {
        const key = `${epoch}#${sort}`;
        if (this.inserted.get(key) !== undefined) continue;
        entry ??= entryOf(layout);
        const expiresAt = { N: String(Math.ceil((epochEndMs(epoch) + this.retentionMs + KEPT_MS) / 1000)) };
        items.push({ key, item: { ...metaKeys.indexed(tenantId, epoch, group, id), ...entry, expiresAt } });
      }
    }
    await this.insert(items.map(({ item }) => item));
    for (const { key } of items) this.inserted.set(key, 1);
  }

  private async insert(items: readonly Item[]): Promise<void> {
    const outcomes = await insertItems(this.table, items);
    // An entry that is there is as good. Whatever else was refused is put by itself, and fails the batch if it must.
    const refused = items.filter((_, i) => outcomes[i] === 'refused');
    for (const item of refused)
      await this.table.client.send(new PutItemCommand({ TableName: this.table.name, Item: item }));
  }

  /** Reads an epoch's entries. */
  async read(tenantId: Id, epoch: Epoch): Promise<IndexedLayout[]> {
    const buckets = Array.from({ length: INDEX_BUCKETS }, (_, bucket) => bucket);
    const found = await mapLimited(buckets, PARALLEL, async (bucket) => {
      const entries: IndexedLayout[] = [];
      const items = queryAll(this.table, {
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: metaKeys.index(tenantId, epoch, bucket) } },
      });
      for await (const { sk, common, shape } of items)
        entries.push({
          ...metaKeys.parseLayoutSort(sk!.S!),
          common: JSON.parse(common!.S!) as Labels,
          shapeId: shape!.S!,
        });
      return entries;
    });
    return found.flat();
  }
}

function entryOf({ packed }: LayoutOfDays): Item {
  const { common, shape } = splitLayout(unpackLayout(packed));
  return { common: { S: JSON.stringify(common) }, shape: { S: shape.id } };
}

/** Ranges of more days than this are looked up by month. */
const MAX_DAYS = 3;

/** The epochs that a range touches. */
export function epochsOf({ fromMs, toMs }: TimeRange): Epoch[] {
  const days = daysIn(fromMs, toMs);
  return days.length <= MAX_DAYS ? days : [...new Set(days.map(monthOf))];
}

function monthOf(day: Day): Epoch {
  return day.slice(0, 7);
}

/**
 * The range whose samples show that a series began before the last epoch of `range`: from an epoch before that one, or from
 * the start of `range` if that is earlier.
 */
export function rangeBeforeLastEpoch(range: TimeRange): TimeRange {
  const last = epochsOf(range).at(-1);
  if (last === undefined) return { fromMs: range.fromMs, toMs: range.fromMs };
  const toMs = epochStartMs(last);
  const [dayBefore] = daysIn(toMs - 1, toMs);
  const before = last.length === 10 ? dayBefore! : monthOf(dayBefore!);
  return { fromMs: Math.min(range.fromMs, epochStartMs(before)), toMs };
}

function epochStartMs(epoch: Epoch): number {
  if (epoch.length === 10) return dayStartMs(epoch);
  const [year, month] = epoch.split('-').map(Number);
  return Date.UTC(year!, month! - 1, 1);
}

/** The first ms after an epoch. */
export function epochEndMs(epoch: Epoch): number {
  if (epoch.length === 10) return dayStartMs(epoch) + DAY_MS;
  const [year, month] = epoch.split('-').map(Number);
  // Months count from 0 here, so this is the next one.
  return Date.UTC(year!, month!, 1);
}
