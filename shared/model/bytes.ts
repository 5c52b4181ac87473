/** The bytes end too early, or contain an impossible length or number. */
export class MalformedBytesError extends Error {
  override readonly name = 'MalformedBytesError';
}

/**
 * Strings of up to this many characters are written by a loop, which is faster for them than the buffer's own method.
 * As a uvarint, their length takes one byte.
 */
const SHORT_TEXT = 48;

/** Writes binary formats, such as layouts and records, into a growing buffer. */
export class ByteWriter {
  private buffer: Buffer;
  private end = 0;

  constructor(initialBytes = 1024) {
    this.buffer = Buffer.allocUnsafe(initialBytes);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.end;
  }

  private reserve(bytes: number): void {
    if (this.end + bytes <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.end + bytes));
    this.buffer.copy(grown, 0, 0, this.end);
    this.buffer = grown;
  }

  byte(value: number): this {
    this.reserve(1);
    this.buffer[this.end++] = value;
    return this;
  }

  /** Writes an integer from 0 to 2^53 - 1 in unsigned LEB128. */
  uvarint(value: number): this {
    this.reserve(8);
    let rest = value;
    // Division, not >>: bitwise operators truncate to 32 bits.
    while (rest > 127) {
      this.buffer[this.end++] = (rest % 128) + 128;
      rest = Math.floor(rest / 128);
    }
    this.buffer[this.end++] = rest;
    return this;
  }

  bytes(value: Uint8Array): this {
    this.reserve(value.length);
    this.buffer.set(value, this.end);
    this.end += value.length;
    return this;
  }

  /** Writes a string: its length in bytes as {@link uvarint}, then its bytes in UTF-8. */
  text(value: string): this {
    if (value.length <= SHORT_TEXT && this.ascii(value)) return this;
    const length = Buffer.byteLength(value);
    this.uvarint(length).reserve(length);
    this.end += this.buffer.write(value, this.end, 'utf8');
    return this;
  }

  /** Writes a short string if it is ASCII, as most labels are. Otherwise writes nothing, and returns false. */
  private ascii(value: string): boolean {
    const { length } = value;
    this.reserve(1 + length);
    const { buffer, end } = this;
    for (let i = 0; i < length; i++) {
      const code = value.charCodeAt(i);
      if (code > 127) return false;
      buffer[end + 1 + i] = code;
    }
    buffer[end] = length;
    this.end = end + 1 + length;
    return true;
  }

  /** Writes an integer of up to 53 bits as 8 little-endian bytes. */
  int64(value: number): this {
    this.reserve(8);
    this.buffer.writeBigInt64LE(BigInt(value), this.end);
    this.end += 8;
    return this;
  }

  /** Adds `count` bytes for the caller to fill in, and returns a view of them. */
  hole(count: number): Buffer {
    this.reserve(count);
    this.end += count;
    return this.buffer.subarray(this.end - count, this.end);
  }

  /** Returns the bytes written, as a view of the buffer. */
  finish(): Buffer {
    return this.buffer.subarray(0, this.end);
  }

  /** Restarts at the beginning of the buffer. Later writes overwrite the bytes that {@link finish} has returned. */
  restart(): this {
    this.end = 0;
    return this;
  }
}

/**
 * Reads bytes that a {@link ByteWriter} has written. Checks every length against the remaining bytes before
 * it allocates. All methods throw {@link MalformedBytesError} if the bytes are not as expected.
 */
export class ByteReader {
  private readonly buffer: Buffer;

  constructor(
    bytes: Uint8Array,
    private at = 0,
  ) {
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Index of the next byte. */
  get offset(): number {
    return this.at;
  }

  get remaining(): number {
    return this.buffer.length - this.at;
  }

  byte(): number {
    if (this.remaining < 1)
      throw new MalformedBytesError(`the bytes end at ${this.buffer.length}, one more is expected`);
    return this.buffer[this.at++]!;
  }

  uvarint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 8; i++) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
      scale *= 128;
    }
    throw new MalformedBytesError(`the varint before byte ${this.at} exceeds 2^53 - 1`);
  }

  /**
   * Reads the number of items that follow, each of at least `minBytes`. Throws if the remaining bytes cannot hold this
   * number of items, so that corrupt bytes cannot make the caller allocate without bound.
   */
  count(minBytes: number): number {
    const count = this.uvarint();
    if (count * minBytes > this.remaining)
      throw new MalformedBytesError(
        `${count} things of ${minBytes} bytes are announced, ${this.remaining} bytes are left`,
      );
    return count;
  }

  bytes(length: number): Buffer {
    this.skip(length);
    return this.buffer.subarray(this.at - length, this.at);
  }

  skip(length: number): void {
    if (length > this.remaining)
      throw new MalformedBytesError(
        `${length} bytes are announced at ${this.at}, ${this.remaining} are left`,
      );
    this.at += length;
  }

  /** Returns the bytes from `start` to {@link offset} as a string with one character for each byte. */
  latin1(start: number): string {
    return this.buffer.toString('latin1', start, this.at);
  }

  text(): string {
    return this.bytes(this.count(1)).toString('utf8');
  }

  int64(): number {
    const value = this.bytes(8).readBigInt64LE(0);
    const number = Number(value);
    if (!Number.isSafeInteger(number)) throw new MalformedBytesError(`the integer ${value} exceeds 53 bits`);
    return number;
  }
}
