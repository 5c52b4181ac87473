/**
 * A cache that holds at most so many bytes, and makes room by removing entries at random.
 *
 * What is cached here comes again in turns: every host posts once a minute. If the hosts are a few more than fit, the least
 * recently used entry is always the one that is needed next, so such a cache would never hit again. This one still hits for
 * most of what it holds.
 */
export class BoundedCache<Value> {
  private readonly entries = new Map<string, Entry<Value>>();
  /** The same, in any order: one of them is drawn. */
  private readonly drawn: Entry<Value>[] = [];
  private usedBytes = 0;
  private draws = 1;

  /** @param bytesOf estimate of an entry's memory, without the cache's own */
  constructor(
    private readonly maxBytes: number,
    private readonly bytesOf: (value: Value, key: string) => number,
  ) {}

  get size(): number {
    return this.entries.size;
  }

  get bytes(): number {
    return this.usedBytes;
  }

  get(key: string): Value | undefined {
    return this.entries.get(key)?.value;
  }

  /** Sets an entry, or counts its bytes again after it changed. An entry beyond the whole cache is not kept. */
  set(key: string, value: Value): void {
    this.delete(key);
    const bytes = ENTRY_BYTES + this.bytesOf(value, key);
    if (bytes > this.maxBytes) return;
    while (this.usedBytes + bytes > this.maxBytes) this.removeAny();
    const entry = { key, value, bytes, at: this.drawn.length };
    this.entries.set(key, entry);
    this.drawn.push(entry);
    this.usedBytes += bytes;
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (entry === undefined) return;
    this.entries.delete(key);
    this.usedBytes -= entry.bytes;
    const last = this.drawn.pop()!;
    if (last === entry) return;
    last.at = entry.at;
    this.drawn[entry.at] = last;
  }

  private removeAny(): void {
    // Park and Miller's generator: what is removed need not be a secret.
    this.draws = (this.draws * 48_271) % 2_147_483_647;
    this.delete(this.drawn[this.draws % this.drawn.length]!.key);
  }
}

/** An entry's own object, and its places in the map and the array. */
const ENTRY_BYTES = 120;

interface Entry<Value> {
  readonly key: string;
  readonly value: Value;
  readonly bytes: number;
  at: number;
}
