import { LRUCache } from 'lru-cache';

/** Entries that nobody asked for in this time make room, ms. */
const UNUSED_MS = 600_000;
/** How often a full cache looks for them, ms. */
const PURGE_MS = 10_000;
/** An entry takes at most this share of the cache. */
const MAX_SHARE = 0.1;
/** Fuller than this, a cache takes no new entries. */
const FULL_SHARE = 0.9;

/**
 * A cache for readers that ask for the same things in turns. A full one keeps what it has: if it made room, it would forget each
 * entry just before it is asked for again.
 */
export class Kept<Value extends object> {
  private readonly entries: LRUCache<string, Value>;
  private purgedMs = -Infinity;

  constructor(
    private readonly maxBytes: number,
    private readonly bytesOf: (value: Value) => number,
  ) {
    this.entries = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: bytesOf,
      ttl: UNUSED_MS,
      updateAgeOnGet: true,
    });
  }

  get(key: string): Value | undefined {
    return this.entries.get(key);
  }

  /** Whether entries are taken that are not there yet. */
  hasRoom(): boolean {
    const { entries, maxBytes } = this;
    const isFull = () => entries.calculatedSize > maxBytes * FULL_SHARE;
    if (isFull() && performance.now() - this.purgedMs > PURGE_MS) {
      entries.purgeStale();
      this.purgedMs = performance.now();
    }
    return !isFull();
  }

  /** Keeps an entry, if it is not too large, and there is room or it replaces one. */
  set(key: string, value: Value): void {
    if (this.bytesOf(value) > this.maxBytes * MAX_SHARE) this.entries.delete(key);
    else if (this.entries.has(key) || this.hasRoom()) this.entries.set(key, value);
  }

  delete(key: string): void {
    this.entries.delete(key);
  }
}
