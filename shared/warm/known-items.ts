import type { Block } from '../codec';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import { type Day, type GroupId, type PartitionRef, partitionText } from '../model/placement';
import type { WarmItem } from './warm-tier';

/** What the warm table had of a group's day. */
interface KnownItems {
  /** The day's announcements, counted before the table was asked. */
  readonly changes: number;
  /** Windows that begin in `[fromMs, toMs)`. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly items: readonly WarmItem[];
}

/** The wanted series of a chunk; no block when it has none. */
export interface PickedChunk {
  readonly block: Block | undefined;
  /** Samples of the whole chunk. */
  readonly samples: number;
}

const ITEM_BYTES = 500;
const BLOCK_BYTES = 1_000;
/** Of a sample, with its share of a time and a version. */
const SAMPLE_BYTES = 24;

/**
 * What a reader has seen of the warm table. A flush announces itself once more before it trims (DESIGN.md, rule 12), so while a
 * day counts the announcements that it had before the table was asked, the table had all that has left memory since.
 */
export class ItemMemo {
  private readonly cache = new Cache<KnownItems>(CACHES.warmItems, ({ items }) =>
    items.reduce((sum, { chunk }) => sum + ITEM_BYTES + chunk.length, ITEM_BYTES),
  );
  /** By the chunk's hash and the wanted layout: true for ever. */
  readonly picked = new Cache<PickedChunk>(
    CACHES.warmChunks,
    ({ block }) =>
      BLOCK_BYTES + SAMPLE_BYTES * (block?.columns.reduce((sum, { values }) => sum + values.length, 0) ?? 0),
  );
  /** Announcements of each partition's day when they were last counted. */
  private readonly counted = new Cache<number>(CACHES.announcements, (_, key) => key.length);

  /** Notes how many announcements a day has. */
  count(ref: PartitionRef, day: Day, changes: number): void {
    this.counted.set(dayKey(ref, day), changes);
  }

  /** How many announcements a day had when they were last counted. */
  lastCount(ref: PartitionRef, day: Day): number | undefined {
    return this.counted.get(dayKey(ref, day));
  }

  /**
   * The items of the windows that begin in `[fromMs, toMs)`, if the reader has seen them.
   *
   * @param changes the day's announcements, counted after memory was read; undefined: whatever they are
   */
  items(
    ref: PartitionRef,
    day: Day,
    group: GroupId,
    fromMs: number,
    toMs: number,
    changes: number | undefined,
  ): WarmItem[] | undefined {
    const known = this.cache.get(groupKey(ref, day, group));
    if (known === undefined || known.fromMs > fromMs || known.toMs < toMs) return undefined;
    if (changes !== undefined && known.changes !== changes) return undefined;
    return known.items.filter(({ windowStart }) => windowStart >= fromMs && windowStart < toMs);
  }

  /** @param known its `changes` were counted before the table was asked */
  keep(ref: PartitionRef, day: Day, group: GroupId, known: KnownItems): void {
    this.cache.set(groupKey(ref, day, group), known);
  }
}

function dayKey({ tenantId, partition }: PartitionRef, day: Day): string {
  return `${tenantId} ${partitionText(partition)} ${day}`;
}

function groupKey(ref: PartitionRef, day: Day, group: Id): string {
  return `${dayKey(ref, day)} ${group}`;
}
