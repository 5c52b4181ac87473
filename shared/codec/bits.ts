/**
 * Streams of bits, least significant bit first: bit `i` of a stream is bit `i % 8` of byte `i / 8`. With this
 * order, a little-endian 32-bit load contains at least the next 25 bits.
 */
import { CorruptChunkError } from './model';

/** A growing stream of bits. Reuse an instance to save allocations. */
export class BitWriter {
  /**
   * The buffer. It is at least 16 bytes longer than the written part, so that loops can write small values without
   * checking the length.
   */
  bytes = new Uint8Array(1 << 12);
  /** Number of whole bytes written. */
  length = 0;
  /** The bits of the last, incomplete byte; `pendingCount` is their number, at most 7. */
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

  /** Grows `bytes`, if necessary, so that another `bits` bits fit. */
  reserve(bits: number): void {
    const needed = this.length + Math.ceil(bits / 8) + 16;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  /**
   * Writes the lowest bits of an integer.
   *
   * @param value from 0 to 2^count - 1
   * @param count number of bits, 0 to 24
   */
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

  /**
   * Writes the lowest bits of an integer, like {@link write} but for larger integers.
   *
   * @param value an integer from 0 to 2^count - 1
   * @param count number of bits, 0 to 53
   */
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

  /** Writes an integer from 0 to 2^53 - 1: its bit length as 6 bits, then all of its bits except the highest. */
  writeUnsigned(value: number): void {
    const count = bitLength(value);
    this.write(count, 6);
    if (count > 1) this.writeLong(value - 2 ** (count - 1), count - 1);
  }

  /**
   * Writes an integer between -2^53 and 2^53: its magnitude as in {@link writeUnsigned}, then one bit for its sign
   * unless it is 0.
   */
  writeSigned(value: number): void {
    this.writeUnsigned(Math.abs(value));
    if (value !== 0) this.write(value < 0 ? 1 : 0, 1);
  }

  /** Fills the incomplete byte with zero bits, so that the next write begins at a byte. */
  align(): void {
    if (this.pendingCount > 0) this.write(0, 8 - this.pendingCount);
  }

  /** Writes whole bytes, beginning at the next byte boundary. */
  writeBytes(source: Uint8Array): void {
    this.align();
    this.reserve(source.length * 8);
    this.bytes.set(source, this.length);
    this.length += source.length;
  }

  /**
   * Writes a non-negative integer in LEB128: 7 bits in each byte, lowest first. The high bit is set in all
   * bytes except the last. The stream must be at a byte boundary.
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

/** Reads the bits of `bytes` from `startByte` up to, but not including, `endByte`. Reading beyond the end throws. */
export class BitReader {
  /**
   * A view of all `bytes`, for loops that must be faster than repeated calls of {@link read}. Such a loop must move
   * `position` itself, and call {@link checkEnd} afterwards.
   */
  readonly view: DataView;
  /** Index of the next bit in `bytes`. */
  position: number;

  constructor(
    readonly bytes: Uint8Array,
    startByte: number,
    public endByte: number,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.position = startByte * 8;
  }

  /** Moves to `startByte`, and sets a new end, `endByte`. */
  moveTo(startByte: number, endByte: number): void {
    this.position = startByte * 8;
    this.endByte = endByte;
  }

  /**
   * Reads an unsigned integer of `count` bits.
   *
   * @param count 0 to 24
   * @throws {CorruptChunkError} when fewer than `count` bits are left
   */
  read(count: number): number {
    const at = this.position;
    this.position = at + count;
    if (this.position > this.endByte * 8) this.throwCutOff();
    const byte = at >>> 3;
    const { bytes } = this;
    // A byte beyond the array is undefined, which `|` treats as 0. The result uses none of its bits.
    const word = bytes[byte]! | (bytes[byte + 1]! << 8) | (bytes[byte + 2]! << 16) | (bytes[byte + 3]! << 24);
    return (word >>> (at & 7)) & ((1 << count) - 1);
  }

  /** Reads an unsigned integer of `count` bits, 0 to 53. */
  readLong(count: number): number {
    if (count <= 24) return this.read(count);
    const low = this.read(24);
    if (count <= 48) return low + this.read(count - 24) * 0x1000000;
    const middle = this.read(24);
    return low + middle * 0x1000000 + this.read(count - 48) * 0x1000000000000;
  }

  /** Reads an integer that {@link BitWriter.writeUnsigned} wrote. */
  readUnsigned(): number {
    const count = this.read(6);
    if (count > 53) throw new CorruptChunkError(`integer of ${count} bits at bit ${this.position}`);
    return count <= 1 ? count : 2 ** (count - 1) + this.readLong(count - 1);
  }

  /** Reads an integer that {@link BitWriter.writeSigned} wrote. */
  readSigned(): number {
    const magnitude = this.readUnsigned();
    return magnitude !== 0 && this.read(1) === 1 ? -magnitude : magnitude;
  }

  /** Moves to the next byte boundary. */
  align(): void {
    this.position = (this.position + 7) & ~7;
  }

  /** Returns a view of the next `count` bytes, beginning at the next byte boundary. */
  readBytes(count: number): Uint8Array {
    this.align();
    const start = this.position >>> 3;
    if (count > this.endByte - start) this.throwCutOff();
    this.position += count * 8;
    return this.bytes.subarray(start, start + count);
  }

  /**
   * Reads an integer that {@link BitWriter.writeVarint} wrote.
   *
   * @throws {CorruptChunkError} when the bytes end inside the integer, or the integer exceeds `max` or has needless
   *   bytes
   */
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

  /** @throws {CorruptChunkError} when the position is beyond `endByte` */
  checkEnd(): void {
    if (this.position > this.endByte * 8) this.throwCutOff();
  }

  private throwCutOff(): never {
    throw new CorruptChunkError(`bit ${this.position} is past the end, byte ${this.endByte}`);
  }
}

/** Returns the number of bits of a non-negative integer below 2^53; 0 for 0. */
export function bitLength(value: number): number {
  if (value < 0x100000000) return 32 - Math.clz32(value);
  return 64 - Math.clz32(value / 0x100000000);
}
