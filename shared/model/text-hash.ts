/**
 * Computes the 64-bit hash of a text, with two lanes of multiply and xor, much like MurmurHash2A. The hash is not keyed
 * with a secret, so do not use it where senders must be unable to cause collisions. A call of {@link of} leaves its
 * result in the fields of this object, where the next call overwrites it, so calls allocate nothing.
 */
export class TextHash {
  /** The two halves of the hash, as unsigned integers. */
  low = 0;
  high = 0;

  of(text: string): this {
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
    this.low = (low ^ (low >>> 13)) >>> 0;
    this.high = (high ^ (high >>> 16)) >>> 0;
    return this;
  }

  /** 53 bits of the hash. */
  get number(): number {
    return (this.high >>> 11) * 2 ** 32 + this.low;
  }
}
