import type { CacheBudget } from './cache';
import { TextHash } from './text-hash';

/**
 * A map from strings to numbers. An entry takes 32 to 64 bytes, however long the string is, because the map stores only
 * a 64-bit hash of the string. So the map may return a number for a string that was never set. The probability of this
 * is tiny: the number of entries divided by 2^64.
 *
 * Its capacity is fixed. When the map is full, a new entry replaces a random other entry.
 */
export class CompactMap {
  private hashes = new Uint32Array(2 * FIRST_SLOTS);
  private values = new Float64Array(FIRST_SLOTS);
  private count = 0;
  private draws = 1;
  private readonly hashed = new TextHash();
  /** The two halves of the hash of the string that is being looked up. */
  private low = 0;
  private high = 0;

  /**
   * Maximum number of slots. While the map is being enlarged, the old slots also take memory, half as much as the new
   * ones. Until half of the slots are taken, the map drops an entry only in the rare case that a new string finds none
   * of its slots free ({@link PROBES}).
   */
  private readonly slots: number;

  constructor({ bytes }: CacheBudget) {
    this.slots = Math.floor(bytes / SLOT_BYTES);
  }

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
    if (2 * this.count >= this.values.length && 2 * this.values.length <= this.slots) this.grow();
    this.put(low, high, value);
  }

  private put(low: number, high: number, value: number): void {
    const { hashes, values } = this;
    const mask = values.length - 1;
    let slot = 0;
    for (let i = 0; ; i++) {
      if (i === PROBES) {
        // Park and Miller's random number generator. Its numbers are predictable, which does no harm here.
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

  private hash(text: string): void {
    const { low, high } = this.hashed.of(text);
    // 0 marks an empty slot.
    this.low = low || 1;
    this.high = high;
  }
}

/** Size of a slot, in bytes: the two halves of the hash, and the number. */
const SLOT_BYTES = 16;
/** Number of slots of an empty map; a power of two. */
const FIRST_SLOTS = 1_024;
/**
 * Number of slots that may hold a given string: the slot that its hash selects, and the slots after that one. When half
 * of all slots are taken, only one new string in 100,000 finds none of its slots free.
 */
const PROBES = 32;
