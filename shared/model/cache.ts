/**
 * A cache's name, and the most bytes that its entries may take. The functions' budgets are in
 * cache-budgets.ts.
 */
export interface CacheBudget {
  readonly name: string;
  readonly bytes: number;
}

export interface CacheOptions {
  /** Time to live of an entry, ms. @default unlimited */
  readonly ttlMs?: number;
}

/**
 * The project's cache, with texts as keys. It bounds the bytes of its entries, and counts hits and misses. It
 * is written by hand because of how it evicts.
 *
 * It evicts entries at random. Hosts post once a minute and dashboards poll in turns. If there are slightly
 * more of them than fit, the least recently used entry is always the one needed next, so an LRU cache would
 * never hit.
 *
 * It is fair to several owners, such as tenants: it evicts an entry of an owner that holds more than an equal
 * share. An owner that holds less never loses an entry to others.
 */
export class Cache<Value> {
  hits = 0;
  misses = 0;
  private readonly owners = new Map<string, OwnEntries<Value>>();
  private usedBytes = 0;
  private draws = 1;

  /** @param bytesOf estimates an entry's memory, excluding the cache's own overhead */
  constructor(
    private readonly budget: CacheBudget,
    private readonly bytesOf: (value: Value, key: string) => number,
    private readonly options: CacheOptions = {},
  ) {}

  /** Bytes of all entries. Expired entries count until they are looked up or evicted. */
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
      this.misses++;
      if (entry !== undefined) this.remove(owner, own!, entry);
      return undefined;
    }
    this.hits++;
    return entry.value;
  }

  /**
   * Sets an entry, or updates its size after it changed. An entry larger than the whole cache is not stored.
   *
   * @param ttlMs time to live of this entry, ms. @default that of the cache
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
   * Evicts an entry other than the new one: from its owner, if that holds more than an equal share; otherwise
   * from the other owner that holds most.
   */
  private makeRoom(owner: string, added: Entry<Value>): void {
    const share = this.budget.bytes / this.owners.size;
    const holdsMore = this.bytesOfOwner(owner) > share && this.owners.get(owner)!.drawn.length > 1;
    const from = holdsMore ? owner : this.largestBut(owner);
    const own = this.owners.get(from)!;
    // Park and Miller's generator: evictions need not be unpredictable.
    this.draws = (this.draws * 48_271) % 2_147_483_647;
    const at = this.draws % own.drawn.length;
    const entry = own.drawn[at]!;
    this.remove(from, own, entry === added ? own.drawn[(at + 1) % own.drawn.length]! : entry);
  }

  private largestBut(owner: string): string {
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

const NOBODY = '';
/** Memory of an entry's object, and of its places in the map and the array. */
const ENTRY_BYTES = 120;

interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
  readonly bytes: number;
  readonly endMs: number;
  /** Index in `drawn`. */
  at: number;
}

interface OwnEntries<Value> {
  readonly byKey: Map<string, Entry<Value>>;
  /** The same entries in arbitrary order, for random eviction. */
  readonly drawn: Entry<Value>[];
  bytes: number;
}
