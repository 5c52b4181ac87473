import { randomInt } from 'node:crypto';

const FIRST_SLOTS = 64;

/** Odd numbers of 32 bits, for a hash's lower and higher half. */
export type Multipliers = readonly [low: number, high: number];

/** Senders choose labels, so hashes too: if they knew these, one request could give 65,536 series the same slot. */
const OF_PROCESS: Multipliers = [randomInt(2 ** 32) | 1, randomInt(2 ** 32) | 1];

/**
 * The slot where a hash belongs among `2 ** (32 - shift)`, by multiply-shift: with random multipliers two hashes share it hardly
 * oftener than two random ones do, whichever bits they have in common.
 *
 * @see Dietzfelbinger et al., A Reliable Randomized Algorithm for the Closest-Pair Problem, J. Algorithms 25 (1997)
 */
export function firstSlot(hash: number, [low, high]: Multipliers, shift: number): number {
  return (Math.imul(hash, low) + Math.imul(hash / 2 ** 32, high)) >>> shift;
}

/** A set of hashes of 53 bits in 16 to 32 bytes each, without an object for one. 0 and 1 count as the same. */
export class HashSet {
  private slots: Float64Array;
  private count = 0;

  /** @param expected number of hashes that it soon has */
  constructor(expected = 0) {
    let length = FIRST_SLOTS;
    while (length < 2 * expected) length *= 2;
    this.slots = new Float64Array(length);
  }

  get size(): number {
    return this.count;
  }

  /** Memory of its slots. */
  get bytes(): number {
    return this.slots.byteLength;
  }

  has(hash: number): boolean {
    return this.slots[this.slotOf(hash || 1)] !== 0;
  }

  /** @returns whether it lacked the hash */
  add(hash: number): boolean {
    const slot = this.slotOf(hash || 1);
    if (this.slots[slot] !== 0) return false;
    this.slots[slot] = hash || 1;
    if (2 * ++this.count > this.slots.length) this.grow();
    return true;
  }

  /** The slot of a hash, or the free one where it belongs. */
  private slotOf(hash: number): number {
    const { slots } = this;
    const mask = slots.length - 1;
    let slot = firstSlot(hash, OF_PROCESS, Math.clz32(mask));
    while (slots[slot] !== 0 && slots[slot] !== hash) slot = (slot + 1) & mask;
    return slot;
  }

  private grow(): void {
    const old = this.slots;
    this.slots = new Float64Array(2 * old.length);
    for (const hash of old) if (hash !== 0) this.slots[this.slotOf(hash)] = hash;
  }
}
