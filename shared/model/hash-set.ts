import { randomInt } from 'node:crypto';

const FIRST_SLOTS = 64;

/** Odd 32-bit factors for the lower and the upper half of a hash. */
export type Multipliers = readonly [low: number, high: number];

/**
 * The factors of this process. They are random because senders choose labels, and thereby hashes. A sender who knew the
 * factors could put 65,536 series into one slot with a single request.
 */
const OF_PROCESS: Multipliers = [randomInt(2 ** 32) | 1, randomInt(2 ** 32) | 1];

/**
 * Returns the slot at which the search for a hash begins, among `2 ** (32 - shift)` slots. The method is
 * called multiply-shift. With random factors, two hashes collide hardly more often than two random numbers,
 * whichever bits the hashes have in common.
 *
 * @see Dietzfelbinger et al., A Reliable Randomized Algorithm for the Closest-Pair Problem, J. Algorithms 25
 *   (1997)
 */
export function firstSlot(hash: number, [low, high]: Multipliers, shift: number): number {
  return (Math.imul(hash, low) + Math.imul(hash / 2 ** 32, high)) >>> shift;
}

/**
 * A set of 53-bit hashes. It takes 16 to 32 bytes for each hash, and allocates no objects. It treats the hashes 0 and 1
 * as equal.
 */
export class HashSet {
  private slots: Float64Array;
  private count = 0;

  /** @param expected number of hashes to make room for */
  constructor(expected = 0) {
    let length = FIRST_SLOTS;
    while (length < 2 * expected) length *= 2;
    this.slots = new Float64Array(length);
  }

  get size(): number {
    return this.count;
  }

  /** Memory of the slots, in bytes. */
  get bytes(): number {
    return this.slots.byteLength;
  }

  /** Adds a hash. Returns whether it is new. */
  add(hash: number): boolean {
    const slot = this.slotOf(hash || 1);
    if (this.slots[slot] !== 0) return false;
    this.slots[slot] = hash || 1;
    if (2 * ++this.count > this.slots.length) this.grow();
    return true;
  }

  /** Returns the slot that has a hash, or the free slot for it. */
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
