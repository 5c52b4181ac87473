import type { CompactMap } from '../model/compact-map';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { bytesOfPacked, type PackedLayout } from '../model/packed-layout';
import type { Day, GroupId } from '../model/placement';
import { shapeOf } from '../model/shape';
import { metaKeys } from '../platform/keys';
import { type Item, insertItems, putItem, type Table } from '../platform/table';
import type { ChangeList } from './change-list';
import { monthOf, periodEndMs } from './index-table';

/** A layout in which samples of `days` are about to be written. */
export interface LayoutOfDays extends Pick<PackedLayout, 'id' | 'packed' | 'bytes'> {
  readonly group: GroupId;
  readonly days: readonly Day[];
}

/** How long an entry is kept after the retention of its period has ended, ms: a margin for late archiving. */
const KEPT_MS = 30 * DAY_MS;

/** Inserts entries into the index of series (index-table.ts). */
export class IndexWriter {
  /** @param inserted remembers the keys of the entries that this instance has inserted */
  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly inserted: CompactMap,
    private readonly changes: Pick<ChangeList, 'noteIndex'>,
  ) {}

  /**
   * Inserts the entries of layouts that this instance has not inserted yet.
   *
   * @param windowMs length of the windows that the layouts' samples are written in, in ms
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
    // Leave entries that exist as they are. Put each entry that DynamoDB refused on its own; if such a put fails, the
    // caller gets the error.
    const refused = items.filter((_, i) => outcomes[i] === 'refused');
    for (const item of refused) await putItem(this.table, item);
  }
}

function entryOf(layout: LayoutOfDays): Item {
  const { common, shape } = shapeOf(bytesOfPacked(layout));
  return { common: { S: JSON.stringify(common) }, shape: { S: shape.id } };
}
