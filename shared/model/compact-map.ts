import type { CacheBudget } from './cache';
import { TextHash } from './text-hash';

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
  private readonly hashed = new TextHash();
  /** The hash of the text in hand. */
  private low = 0;
  private high = 0;

  /** Entries that it holds without forgetting any. */
  private readonly entries: number;

  constructor({ bytes }: CacheBudget) {
    this.entries = Math.floor(bytes / ENTRY_BYTES);
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

  private hash(text: string): void {
    const { low, high } = this.hashed.of(text);
    // 0 marks an empty slot.
    this.low = low || 1;
    this.high = high;
  }
}

/** Two slots of a hash and a value. */
const ENTRY_BYTES = 32;
/** A power of two. */
const FIRST_SLOTS = 1_024;
/** Slots in which a text may be: at half load, one in 100,000 needs more. */
const PROBES = 32;
