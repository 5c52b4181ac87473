import type { Block } from '../codec';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import { type Day, type GroupId, type PartitionRef, partitionText } from '../model/placement';
import type { WarmDay } from './plan';
import type { WarmItem } from './warm-item';

/** A group's items of one day, and the number of announcements of the day that the items include. */
interface CountedItems {
  /** How many times flushes had announced the day, counted before the table was read. */
  readonly announcements: number;
  readonly items: readonly WarmItem[];
}

/** The cache's entry for one group and day. */
interface CachedGroup {
  /** This instance has read the windows that begin in `[fromMs, toMs)`. */
  readonly fromMs: number;
  readonly toMs: number;
  /** The items of these windows; undefined if the reader did not know how many times the day had been announced. */
  readonly counted: CountedItems | undefined;
}

/** A day of a partition, with the wanted windows. */
type CachedDay = Pick<WarmDay, 'ref' | 'day' | 'windowsFromMs' | 'windowsToMs'>;

/** The wanted series of a chunk. `block` is undefined if the chunk has none of these series. */
export interface PickedChunk {
  readonly block: Block | undefined;
  /** Number of samples in the whole chunk. */
  readonly samples: number;
}

// Estimated memory of a cached item and of a block, in bytes, not counting the chunk's bytes and the samples.
const ITEM_BYTES = 500;
const BLOCK_BYTES = 1_000;
/** Estimated memory of a sample, in bytes, including its share of a timestamp and a version. */
const SAMPLE_BYTES = 24;

/**
 * Caches the items that readers of this instance have read from the warm table.
 *
 * Cached items stay complete as long as the number of the day's announcements does not change. A flush announces the
 * day before it writes to the warm table, and once more before it trims memory (DESIGN.md, rule 12). So if the number
 * is still the same as before the table was read, the cached items include everything that has left memory.
 */
export class WarmItemCache {
  private readonly cache = new Cache<CachedGroup>(CACHES.warmItems, ({ counted }) =>
    (counted?.items ?? []).reduce((sum, { chunk }) => sum + ITEM_BYTES + chunk.length, ITEM_BYTES),
  );
  /**
   * Picked chunks, keyed by the chunk's hash and the wanted layout's id. Both are hashes of content, so entries never
   * become stale.
   */
  readonly picked = new Cache<PickedChunk>(
    CACHES.warmChunks,
    ({ block }) =>
      BLOCK_BYTES + SAMPLE_BYTES * (block?.columns.reduce((sum, { values }) => sum + values.length, 0) ?? 0),
  );

  /** Whether this instance has read the wanted windows of a group. The windows may have changed since. */
  hasRead(day: CachedDay, group: GroupId): boolean {
    return this.entryOf(day, group) !== undefined;
  }

  /**
   * Returns the cached items of a group's wanted windows; undefined if the cache lacks some of them.
   *
   * @param announcements how many times flushes had announced the day, counted after memory was read. Items that were
   *   cached with another number are not returned
   */
  items(day: CachedDay, group: GroupId, announcements: number): WarmItem[] | undefined {
    const counted = this.entryOf(day, group)?.counted;
    if (counted?.announcements !== announcements) return undefined;
    const { windowsFromMs: fromMs, windowsToMs: toMs } = day;
    return counted.items.filter(({ windowStart }) => windowStart >= fromMs && windowStart < toMs);
  }

  /** Caches the items of a group's wanted windows. If `counted` is undefined, records only that they were read. */
  put(
    { ref, day, windowsFromMs: fromMs, windowsToMs: toMs }: CachedDay,
    group: GroupId,
    counted: CountedItems | undefined,
  ): void {
    this.cache.set(groupKey(ref, day, group), { fromMs, toMs, counted });
  }

  private entryOf(
    { ref, day, windowsFromMs, windowsToMs }: CachedDay,
    group: GroupId,
  ): CachedGroup | undefined {
    const entry = this.cache.get(groupKey(ref, day, group));
    return entry && entry.fromMs <= windowsFromMs && entry.toMs >= windowsToMs ? entry : undefined;
  }
}

function groupKey({ tenantId, partition }: PartitionRef, day: Day, group: Id): string {
  return `${tenantId} ${partitionText(partition)} ${day} ${group}`;
}
