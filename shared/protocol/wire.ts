import { ByteWriter, MalformedBytesError } from '../model/bytes';

/** Wire types of protobuf. Groups (3, 4) are obsolete and refused. */
export const VARINT = 0;
const FIXED64 = 1;
export const BYTES = 2;
const FIXED32 = 5;

/**
 * Reads one protobuf message in place. Copies nothing and allocates nothing. (A generic decoder, which builds an object
 * for each label, took 2 to 10 times as long.)
 *
 * Every length is checked against the end of the enclosing message before it is used.
 *
 * @see https://protobuf.dev/programming-guides/encoding/
 */
export class WireReader {
  /** Field number and wire type of the last tag that {@link next} read. */
  field = 0;
  type = VARINT;
  /** Index of the next byte. */
  at = 0;
  /** Index just past the last byte of the current message. */
  end: number;

  readonly buffer: Buffer;

  constructor(readonly bytes: Uint8Array) {
    this.end = bytes.length;
    this.buffer = bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /**
   * Reads the message that is the value of the current field. Afterwards the reader is behind this message, even if
   * `read` has left some of its bytes.
   */
  message<T>(read: (reader: WireReader) => T): T {
    this.expect(BYTES);
    const length = this.uvarint();
    if (length > this.end - this.at) throw this.malformed(`${length} bytes announced`);
    const outerEnd = this.end;
    this.end = this.at + length;
    const value = read(this);
    this.at = this.end;
    this.end = outerEnd;
    return value;
  }

  /**
   * Reads the next tag into {@link field} and {@link type}.
   *
   * @returns false at the end of the message
   * @throws {MalformedBytesError} for field 0, a group, or a tag beyond 32 bits
   */
  next(): boolean {
    if (this.at >= this.end) return false;
    const tag = this.uvarint();
    this.type = tag & 7;
    this.field = tag < 128 ? tag >> 3 : Math.floor(tag / 8);
    if (this.field === 0 || this.field > 0x1fffffff) throw this.malformed(`field ${this.field}`);
    if (this.type === 3 || this.type === 4 || this.type > FIXED32)
      throw this.malformed(`wire type ${this.type} of field ${this.field}`);
    return true;
  }

  /** Checks the wire type of the current field. */
  expect(type: number): void {
    if (this.type !== type)
      throw this.malformed(`wire type ${this.type} of field ${this.field}, expected ${type}`);
  }

  /**
   * Reads an unsigned varint.
   *
   * @throws {MalformedBytesError} when the bytes end inside it, or it exceeds 2^53 - 1
   */
  uvarint(): number {
    const { bytes, end } = this;
    let at = this.at;
    const first = bytes[at]!;
    if (first < 128 && at < end) {
      this.at = at + 1;
      return first;
    }
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 8 && at < end; i++) {
      const byte = bytes[at++]!;
      // Multiplication, not <<: bitwise operators truncate to 32 bits.
      value += (byte & 127) * scale;
      if (byte < 128) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        this.at = at;
        return value;
      }
      scale *= 128;
    }
    throw this.malformed(at >= end ? 'varint is cut off' : 'varint exceeds 2^53 - 1');
  }

  /**
   * Reads an int64 varint. A negative integer takes ten bytes.
   *
   * @returns the integer, rounded where it exceeds 53 bits
   */
  int64(): number {
    const { bytes } = this;
    let low = 0;
    let high = 0;
    for (let i = 0; i < 10; i++) {
      if (this.at >= this.end) throw this.malformed('varint is cut off');
      const byte = bytes[this.at++]!;
      const bits = byte & 127;
      if (i < 4) low |= bits << (7 * i);
      else if (i === 4) {
        low |= bits << 28;
        high |= bits >>> 4;
      } else high |= bits << (7 * i - 32);
      if (byte < 128) return high * 4294967296 + (low >>> 0);
    }
    throw this.malformed('varint of more than ten bytes');
  }

  /** Skips the eight bytes of a fixed64 or double, and returns their index. */
  fixed64At(): number {
    this.expect(FIXED64);
    const at = this.at;
    if (at + 8 > this.end) throw this.malformed('8 bytes announced');
    this.at = at + 8;
    return at;
  }

  /**
   * Skips the next fields while they have this tag of one byte and a value of less than 128 bytes, as the labels of a
   * series do. Other fields are left to {@link next}. (With `next` and {@link skipBytes} for each label, decoding a
   * remote write took twice as long.)
   */
  skipShort(tag: number): void {
    const { bytes, end } = this;
    let { at } = this;
    while (at + 1 < end && bytes[at] === tag) {
      const length = bytes[at + 1]!;
      if (length > 127 || length > end - at - 2) break;
      at += 2 + length;
    }
    this.at = at;
  }

  /**
   * Reads a length and skips that many bytes, up to {@link at}.
   *
   * @returns the index of the first skipped byte
   */
  skipBytes(): number {
    this.expect(BYTES);
    const length = this.uvarint();
    const start = this.at;
    if (length > this.end - start) throw this.malformed(`${length} bytes announced`);
    this.at = start + length;
    return start;
  }

  /**
   * Reads a string.
   *
   * @throws {MalformedBytesError} when it is not UTF-8
   */
  text(): string {
    const start = this.skipBytes();
    const text = decodeUtf8(this.buffer, start, this.at);
    if (text !== undefined) return text;
    const shown = this.buffer.toString('latin1', start, Math.min(this.at, start + 50));
    throw new MalformedBytesError(`protobuf: ${JSON.stringify(shown)} is not UTF-8`);
  }

  /** Skips the value of the current field. */
  skip(): void {
    if (this.type === VARINT) this.int64();
    else if (this.type === FIXED64) this.fixed64At();
    else if (this.type === BYTES) this.skipBytes();
    else if (this.type !== FIXED32) throw this.malformed(`wire type ${this.type}`);
    else if (this.at + 4 > this.end) throw this.malformed('4 bytes announced');
    else this.at += 4;
  }

  private malformed(what: string): MalformedBytesError {
    return new MalformedBytesError(
      `protobuf: ${what} at byte ${this.at}, where ${this.end - this.at} are left`,
    );
  }
}

/** Writes an embedded message: its tag, its length, and the content that `write` writes. */
export function writeMessage(out: ByteWriter, field: number, write: (inner: ByteWriter) => void): void {
  const inner = new ByteWriter(256);
  write(inner);
  out
    .byte((field << 3) | BYTES)
    .uvarint(inner.length)
    .bytes(inner.finish());
}

/** Writes an int64 varint. A negative integer takes ten bytes. */
export function writeInt64(out: ByteWriter, value: number): void {
  if (value >= 0) {
    out.uvarint(value);
    return;
  }
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) out.byte(Number(rest & 127n) | 128);
  out.byte(Number(rest));
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes UTF-8. Returns undefined when the bytes are not valid UTF-8. */
export function decodeUtf8(bytes: Buffer, start: number, end: number): string | undefined {
  // `toString` is several times as fast as TextDecoder, but replaces invalid bytes with U+FFFD instead of failing. So
  // only a text with U+FFFD needs the slow check.
  const text = bytes.toString('utf8', start, end);
  if (!text.includes('\ufffd')) return text;
  try {
    return utf8.decode(bytes.subarray(start, end));
  } catch {
    return undefined;
  }
}
