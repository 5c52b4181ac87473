import { LRUCache } from 'lru-cache';

export interface FairCacheOptions<Value> {
  /** Size of all owners' entries together, in the unit of `sizeOf`. */
  readonly maxSize: number;
  /** @default 1 */
  readonly sizeOf?: (value: Value) => number;
  /** Life of an entry, ms. @default without end */
  readonly ttlMs?: number;
}

/**
 * A cache that several owners, such as tenants, share fairly. To make room it removes the least recently used entry of an owner that
 * holds more than an equal share. An owner that holds less never loses an entry to the others.
 */
export class FairCache<Value extends object | boolean> {
  private readonly owners = new Map<string, LRUCache<string, Value>>();
  private usedSize = 0;

  constructor(private readonly options: FairCacheOptions<Value>) {}

  /** Size of all entries; expired ones count until they are asked for or make room. */
  get size(): number {
    return this.usedSize;
  }

  sizeOf(owner: string): number {
    return this.owners.get(owner)?.calculatedSize ?? 0;
  }

  get(owner: string, key: string): Value | undefined {
    const entries = this.owners.get(owner);
    if (entries === undefined) return undefined;
    return this.changed(owner, entries, () => entries.get(key));
  }

  /** Sets an entry, or replaces it. An entry beyond the whole cache is not kept. */
  set(owner: string, key: string, value: Value): void {
    const entries = this.owners.get(owner) ?? this.newOwner(owner);
    this.changed(owner, entries, () => {
      // Deleted first, because an entry that is too large would leave the old one in place.
      entries.delete(key);
      entries.set(key, value);
    });
    while (this.usedSize > this.options.maxSize) this.removeOne(owner);
  }

  private newOwner(owner: string): LRUCache<string, Value> {
    const { maxSize, sizeOf = () => 1, ttlMs } = this.options;
    const entries = new LRUCache<string, Value>({
      maxSize,
      sizeCalculation: sizeOf,
      ...(ttlMs !== undefined && { ttl: ttlMs }),
    });
    this.owners.set(owner, entries);
    return entries;
  }

  /** Makes room by an entry of the owner itself if it holds more than an equal share, else of the largest. */
  private removeOne(owner: string): void {
    const share = this.options.maxSize / this.owners.size;
    const largest = this.sizeOf(owner) > share ? owner : this.largest();
    const entries = this.owners.get(largest)!;
    this.changed(largest, entries, () => entries.pop());
  }

  private largest(): string {
    let [largest, most] = ['', -1];
    for (const [owner, { calculatedSize }] of this.owners)
      if (calculatedSize > most) [largest, most] = [owner, calculatedSize];
    return largest;
  }

  /** Runs what may change an owner's entries, and keeps the sum of all sizes true. */
  private changed<Result>(owner: string, entries: LRUCache<string, Value>, change: () => Result): Result {
    const before = entries.calculatedSize;
    const result = change();
    this.usedSize += entries.calculatedSize - before;
    if (entries.size === 0) this.owners.delete(owner);
    return result;
  }
}
