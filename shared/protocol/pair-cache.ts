import { byteHash } from '../dictionary/byte-table';

type Decode<T> = (bytes: Uint8Array, start: number, end: number) => T;

const SLOTS = 4_096;
/** Number of positions in a series for which the cache remembers the last pair; a power of two. */
const POSITIONS = 32;
/** Maximum size of a cached pair, in bytes. Longer pairs are decoded each time. */
const MAX_BYTES = 128;

/**
 * Cache of decoded pairs of name and value (labels or attributes), keyed by their bytes. Most pairs of a new
 * series also occur in other series. Each slot keeps the last pair that hashed to it. The cache takes at most
 * 2 MB.
 */
export class PairCache<T extends object> {
  private readonly bytes = Buffer.alloc(SLOTS * MAX_BYTES);
  private readonly lengths = new Uint8Array(SLOTS);
  /** For each position in a series, the slot of the last pair there. */
  private readonly slots = new Uint16Array(POSITIONS);
  private readonly pairs = new Array<T | undefined>(SLOTS).fill(undefined);

  constructor(private readonly decode: Decode<T>) {}

  /**
   * Returns the decoded pair.
   *
   * @param position the pair's position in its series. The previous series usually had the same pair there, and in that
   *   case the pair is found without hashing.
   * @returns usually the same object for the same bytes
   */
  of(bytes: Uint8Array, start: number, end: number, position = 0): T {
    const length = end - start;
    if (length > MAX_BYTES) return this.decode(bytes, start, end);
    const before = this.slots[position & (POSITIONS - 1)]!;
    if (this.has(before, bytes, start, length)) return this.pairs[before]!;
    const slot = byteHash(bytes, start, end) & (SLOTS - 1);
    this.slots[position & (POSITIONS - 1)] = slot;
    if (this.has(slot, bytes, start, length)) return this.pairs[slot]!;
    const at = slot * MAX_BYTES;
    const pair = this.decode(bytes, start, end);
    this.bytes.set(bytes.subarray(start, end), at);
    this.lengths[slot] = length;
    this.pairs[slot] = pair;
    return pair;
  }

  private has(slot: number, bytes: Uint8Array, start: number, length: number): boolean {
    if (this.lengths[slot] !== length || this.pairs[slot] === undefined) return false;
    const at = slot * MAX_BYTES;
    // Compare from the end, where values usually differ.
    let i = length - 1;
    while (i >= 0 && this.bytes[at + i] === bytes[start + i]) i--;
    return i < 0;
  }
}
