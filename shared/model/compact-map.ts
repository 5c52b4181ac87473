/**
 * Numbers by text, 32 bytes for each whatever the text's length: only a 64-bit hash of it is kept.
 *
 * It answers for a text that was never set with the chance of entries / 2^64. Beyond the entries that it was made for, new ones
 * take the places of others at random, so it forgets some and not all.
 */
export class CompactMap {
  private hashes = new Uint32Array(2 * FIRST_SLOTS);
  private values = new Float64Array(FIRST_SLOTS);
  private count = 0;
  private draws = 1;
  /** The hash of the text in hand. */
  private low = 0;
  private high = 0;

  /** @param entries that it holds without forgetting any */
  constructor(private readonly entries: number) {}

  get size(): number {
    return this.count;
  }

  get(text: string): number | undefined {
    this.hash(text);
    const { hashes, values, low, high } = this;
    const mask = values.length - 1;
    for (let i = 0; i < PROBES; i++) {
      const slot = (high + i) & mask;
      const found = hashes[2 * slot]!;
      if (found === 0) return undefined;
      if (found === low && hashes[2 * slot + 1] === high) return values[slot];
    }
    return undefined;
  }

  set(text: string, value: number): void {
    this.hash(text);
    const { low, high } = this;
    if (2 * this.count >= this.values.length && this.values.length < 2 * this.entries) this.grow();
    this.put(low, high, value);
  }

  private put(low: number, high: number, value: number): void {
    const { hashes, values } = this;
    const mask = values.length - 1;
    let slot = 0;
    for (let i = 0; ; i++) {
      if (i === PROBES) {
        // Park and Miller's generator: what is forgotten need not be a secret.
        this.draws = (this.draws * 48_271) % 2_147_483_647;
        slot = (high + (this.draws % PROBES)) & mask;
        break;
      }
      slot = (high + i) & mask;
      const found = hashes[2 * slot]!;
      if (found === 0) this.count++;
      if (found === 0 || (found === low && hashes[2 * slot + 1] === high)) break;
    }
    hashes[2 * slot] = low;
    hashes[2 * slot + 1] = high;
    values[slot] = value;
  }

  private grow(): void {
    const { hashes, values } = this;
    this.hashes = new Uint32Array(2 * hashes.length);
    this.values = new Float64Array(2 * values.length);
    this.count = 0;
    for (let slot = 0; slot < values.length; slot++)
      if (hashes[2 * slot] !== 0) this.put(hashes[2 * slot]!, hashes[2 * slot + 1]!, values[slot]!);
  }

  /** MurmurHash2A's mixing, over two lanes. The low half is never 0, which marks an empty slot. */
  private hash(text: string): void {
    let low = 0x9e3779b9 ^ text.length;
    let high = 0x85ebca6b;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      low = Math.imul(low ^ code, 0x5bd1e995);
      low ^= low >>> 15;
      high = Math.imul(high ^ code, 0x1b873593);
      high ^= high >>> 13;
    }
    low = Math.imul(low ^ (high >>> 16), 0xc2b2ae35);
    high = Math.imul(high ^ (low >>> 15), 0x85ebca6b);
    this.low = (low ^ (low >>> 13)) >>> 0 || 1;
    this.high = (high ^ (high >>> 16)) >>> 0;
  }
}

/** A power of two. */
const FIRST_SLOTS = 1_024;
/** Slots in which a text may be: at half load, one in 100,000 needs more. */
const PROBES = 32;
