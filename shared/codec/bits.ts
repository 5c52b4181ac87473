/**
 * Streams of bits, least significant bit first: bit `i` of a stream is bit `i % 8` of byte `i / 8`. So a
 * little-endian 32-bit load contains at least the next 25 bits.
 */
import { CorruptChunkError } from './model';

/** A growing stream of bits. Use one instance repeatedly, to avoid allocation. */
export class BitWriter {
  /** At least 16 bytes longer than the written part, so that hot loops need not check for each value. */
  bytes = new Uint8Array(1 << 12);
  /** Number of whole bytes written. */
  length = 0;
  /** The bits of the incomplete byte, fewer than 8, and their number. */
  pending = 0;
  pendingCount = 0;

  reset(): void {
    this.length = 0;
    this.pending = 0;
    this.pendingCount = 0;
  }

  get bitLength(): number {
    return this.length * 8 + this.pendingCount;
  }

  /** Makes room for another `bits` bits. */
  reserve(bits: number): void {
    const needed = this.length + Math.ceil(bits / 8) + 16;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  /** @param count 0 to 24; `value` is below 2^count */
  write(value: number, count: number): void {
    if (this.length + 16 > this.bytes.length) this.reserve(64);
    let pending = this.pending | (value << this.pendingCount);
    let pendingCount = this.pendingCount + count;
    while (pendingCount >= 8) {
      this.bytes[this.length++] = pending;
      pending >>>= 8;
      pendingCount -= 8;
    }
    this.pending = pending;
    this.pendingCount = pendingCount;
  }

  /** @param count 0 to 53; `value` is an integer below 2^count */
  writeLong(value: number, count: number): void {
    if (count <= 24) {
      this.write(value, count);
      return;
    }
    this.write(value & 0xffffff, 24);
    const high = Math.floor(value / 0x1000000);
    if (count <= 48) {
      this.write(high, count - 24);
      return;
    }
    this.write(high & 0xffffff, 24);
    this.write(Math.floor(high / 0x1000000), count - 48);
  }

  /** Writes an integer from 0 to 2^53 - 1: the number of bits in 6 bits, then the bits except the highest. */
  writeUnsigned(value: number): void {
    const count = bitLength(value);
    this.write(count, 6);
    if (count > 1) this.writeLong(value - 2 ** (count - 1), count - 1);
  }

  /**
   * Writes an integer within 2^53: its magnitude as {@link writeUnsigned} does, then its sign unless it is 0.
   */
  writeSigned(value: number): void {
    this.writeUnsigned(Math.abs(value));
    if (value !== 0) this.write(value < 0 ? 1 : 0, 1);
  }

  /** Fills up the incomplete byte with zeros. */
  align(): void {
    if (this.pendingCount > 0) this.write(0, 8 - this.pendingCount);
  }

  /** Writes whole bytes, starting at a byte boundary. */
  writeBytes(source: Uint8Array): void {
    this.align();
    this.reserve(source.length * 8);
    this.bytes.set(source, this.length);
    this.length += source.length;
  }

  /**
   * Writes an integer in LEB128 at a byte boundary: 7 bits for each byte, lowest first, with the high bit set
   * on all bytes except the last.
   */
  writeVarint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.write((rest % 0x80) | 0x80, 8);
      rest = Math.floor(rest / 0x80);
    }
    this.write(rest, 8);
  }
}

/** Reads bits of `bytes` up to byte `endByte`. Reading beyond it throws CorruptChunkError. */
export class BitReader {
  /** All of `bytes`, for hot loops. They must call {@link BitReader.checkEnd} afterwards. */
  readonly view: DataView;
  /** Index of the next bit. */
  position: number;

  constructor(
    readonly bytes: Uint8Array,
    startByte: number,
    public endByte: number,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.position = startByte * 8;
  }

  /** Continues with the bytes from `startByte` to `endByte`. */
  moveTo(startByte: number, endByte: number): void {
    this.position = startByte * 8;
    this.endByte = endByte;
  }

  /** @param count 0 to 24 */
  read(count: number): number {
    const at = this.position;
    this.position = at + count;
    if (this.position > this.endByte * 8) this.throwCutOff();
    const byte = at >>> 3;
    const { bytes } = this;
    // Bytes beyond the end of the array are undefined, which | treats as 0. None of their bits are used.
    const word = bytes[byte]! | (bytes[byte + 1]! << 8) | (bytes[byte + 2]! << 16) | (bytes[byte + 3]! << 24);
    return (word >>> (at & 7)) & ((1 << count) - 1);
  }

  /** @param count 0 to 53 */
  readLong(count: number): number {
    if (count <= 24) return this.read(count);
    const low = this.read(24);
    if (count <= 48) return low + this.read(count - 24) * 0x1000000;
    const middle = this.read(24);
    return low + middle * 0x1000000 + this.read(count - 48) * 0x1000000000000;
  }

  readUnsigned(): number {
    const count = this.read(6);
    if (count > 53) throw new CorruptChunkError(`integer of ${count} bits at bit ${this.position}`);
    return count <= 1 ? count : 2 ** (count - 1) + this.readLong(count - 1);
  }

  readSigned(): number {
    const magnitude = this.readUnsigned();
    return magnitude !== 0 && this.read(1) === 1 ? -magnitude : magnitude;
  }

  align(): void {
    this.position = (this.position + 7) & ~7;
  }

  readBytes(count: number): Uint8Array {
    this.align();
    const start = this.position >>> 3;
    if (count > this.endByte - start) this.throwCutOff();
    this.position += count * 8;
    return this.bytes.subarray(start, start + count);
  }

  /** @throws {CorruptChunkError} when the bytes end, or the integer exceeds `max` */
  readVarint(max: number): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.read(8);
      value += (byte & 0x7f) * scale;
      if (value > max) throw new CorruptChunkError(`${value} at bit ${this.position} exceeds ${max}`);
      if (byte < 0x80) {
        if (byte === 0 && scale > 1) throw new CorruptChunkError(`varint at bit ${this.position} is padded`);
        return value;
      }
      if (scale > 2 ** 49) throw new CorruptChunkError(`varint at bit ${this.position} is too long`);
    }
  }

  /** @throws {CorruptChunkError} when the position is beyond the end */
  checkEnd(): void {
    if (this.position > this.endByte * 8) this.throwCutOff();
  }

  private throwCutOff(): never {
    throw new CorruptChunkError(`bit ${this.position} is past the end, byte ${this.endByte}`);
  }
}

/** Returns how many bits a non-negative integer below 2^53 needs; 0 for 0. */
export function bitLength(value: number): number {
  if (value < 0x100000000) return 32 - Math.clz32(value);
  return 64 - Math.clz32(value / 0x100000000);
}
