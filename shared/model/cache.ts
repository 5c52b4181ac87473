/** The name of a cache, and the maximum size of its entries. All budgets are in cache-budgets.ts. */
export interface CacheBudget {
  readonly name: string;
  readonly bytes: number;
}

export interface CacheOptions {
  /** Time to live of an entry, in ms. @default unlimited */
  readonly ttlMs?: number;
}

/**
 * A cache with strings as keys. It bounds the estimated size of all entries together. It is written by hand
 * because no library evicts entries in both of these ways:
 *
 * - At random. Hosts post and dashboards poll once a minute, always in the same order. If slightly more entries are
 *   needed than fit, the least recently used entry is always the one that is needed next, so an LRU cache would never
 *   hit.
 * - Fairly among several owners, such as tenants. It evicts an entry of an owner that uses more than an equal share of
 *   the memory. An owner that uses less never loses an entry to another owner.
 */
export class Cache<Value> {
  private readonly owners = new Map<string, OwnEntries<Value>>();
  private usedBytes = 0;
  private draws = 1;

  /** @param bytesOf estimates the memory of an entry, in bytes, without the cache's own overhead */
  constructor(
    private readonly budget: CacheBudget,
    private readonly bytesOf: (value: Value, key: string) => number,
    private readonly options: CacheOptions = {},
  ) {}

  /** Estimated bytes of all entries. An expired entry counts until it is looked up or evicted. */
  get bytes(): number {
    return this.usedBytes;
  }

  bytesOfOwner(owner: string): number {
    return this.owners.get(owner)?.bytes ?? 0;
  }

  get(key: string, owner = NOBODY): Value | undefined {
    const own = this.owners.get(owner);
    const entry = own?.byKey.get(key);
    if (entry === undefined || (entry.endMs !== Infinity && entry.endMs < performance.now())) {
      if (entry !== undefined) this.remove(owner, own!, entry);
      return undefined;
    }
    return entry.value;
  }

  /**
   * Sets an entry. If the size of the value changes later, set the entry again. Does not store an entry that is larger
   * than the whole cache.
   *
   * @param ttlMs time to live of this entry, in ms; defaults to that of the cache
   */
  set(key: string, value: Value, owner = NOBODY, ttlMs = this.options.ttlMs): void {
    this.delete(key, owner);
    const bytes = ENTRY_BYTES + this.bytesOf(value, key);
    if (bytes > this.budget.bytes) return;
    let own = this.owners.get(owner);
    if (own === undefined) {
      own = { byKey: new Map(), drawn: [], bytes: 0 };
      this.owners.set(owner, own);
    }
    const endMs = ttlMs === undefined ? Infinity : performance.now() + ttlMs;
    const entry = { key, value, bytes, endMs, at: own.drawn.length };
    own.byKey.set(key, entry);
    own.drawn.push(entry);
    own.bytes += bytes;
    this.usedBytes += bytes;
    while (this.usedBytes > this.budget.bytes) this.makeRoom(owner, entry);
  }

  delete(key: string, owner = NOBODY): void {
    const own = this.owners.get(owner);
    const entry = own?.byKey.get(key);
    if (entry !== undefined) this.remove(owner, own!, entry);
  }

  /**
   * Evicts an entry other than the new one. If the owner of the new entry has more than an equal share, evicts one of
   * this owner's entries. Otherwise evicts an entry of the owner with the most bytes among the other owners.
   */
  private makeRoom(owner: string, added: Entry<Value>): void {
    const share = this.budget.bytes / this.owners.size;
    const holdsMore = this.bytesOfOwner(owner) > share && this.owners.get(owner)!.drawn.length > 1;
    const from = holdsMore ? owner : this.largestOwnerExcept(owner);
    const own = this.owners.get(from)!;
    // Park and Miller's random number generator. Its numbers are predictable, which does no harm here.
    this.draws = (this.draws * 48_271) % 2_147_483_647;
    const at = this.draws % own.drawn.length;
    const entry = own.drawn[at]!;
    this.remove(from, own, entry === added ? own.drawn[(at + 1) % own.drawn.length]! : entry);
  }

  private largestOwnerExcept(owner: string): string {
    let [largest, most] = [owner, -1];
    for (const [other, { bytes }] of this.owners)
      if (other !== owner && bytes > most) [largest, most] = [other, bytes];
    return largest;
  }

  private remove(owner: string, own: OwnEntries<Value>, entry: Entry<Value>): void {
    own.byKey.delete(entry.key);
    own.bytes -= entry.bytes;
    this.usedBytes -= entry.bytes;
    const last = own.drawn.pop()!;
    if (last !== entry) {
      last.at = entry.at;
      own.drawn[entry.at] = last;
    }
    if (own.drawn.length === 0) this.owners.delete(owner);
  }
}

/** The owner of all entries that were set without an owner. */
const NOBODY = '';
/** Memory of an entry's object, and of its slots in the map and the array, in bytes. */
const ENTRY_BYTES = 120;

interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
  readonly bytes: number;
  readonly endMs: number;
  /** Index of the entry in {@link OwnEntries.drawn}. */
  at: number;
}

interface OwnEntries<Value> {
  readonly byKey: Map<string, Entry<Value>>;
  /** The same entries in an array, from which evictions draw at random. */
  readonly drawn: Entry<Value>[];
  bytes: number;
}
