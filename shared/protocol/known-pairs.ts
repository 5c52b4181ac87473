import { byteHash } from './table-memory';

type Decode<T> = (bytes: Uint8Array, start: number, end: number) => T;

const SLOTS = 4_096;
/** Of the bytes of a pair; longer ones are decoded each time. */
const MAX_BYTES = 128;

/**
 * Cache of decoded labels, by their bytes, since most of a new series' labels are those of others: a slot keeps the last pair
 * that hashed to it. Takes 2 MB at most.
 */
export class KnownPairs<T extends object> {
  private readonly bytes = Buffer.alloc(SLOTS * MAX_BYTES);
  private readonly lengths = new Uint8Array(SLOTS);
  private readonly pairs = new Array<T | undefined>(SLOTS).fill(undefined);

  constructor(private readonly decode: Decode<T>) {}

  /** @returns the same object for the same bytes, mostly */
  of(bytes: Uint8Array, start: number, end: number): T {
    const length = end - start;
    if (length > MAX_BYTES) return this.decode(bytes, start, end);
    const slot = byteHash(bytes, start, end) & (SLOTS - 1);
    const known = this.pairs[slot];
    const at = slot * MAX_BYTES;
    if (known !== undefined && this.lengths[slot] === length) {
      let i = 0;
      while (i < length && this.bytes[at + i] === bytes[start + i]) i++;
      if (i === length) return known;
    }
    const pair = this.decode(bytes, start, end);
    this.bytes.set(bytes.subarray(start, end), at);
    this.lengths[slot] = length;
    this.pairs[slot] = pair;
    return pair;
  }
}
