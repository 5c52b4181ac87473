import type { WireReader } from './wire';

/** A half-open range of bytes. */
export interface Encoded {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * The bytes of some fields of a message, with their tags. In a body, these fields are normally adjacent. If they are
 * scattered, they are joined by copying.
 */
export class FieldRange implements Encoded {
  bytes: Buffer;
  start = 0;
  end = 0;
  private readonly parts: Buffer[] = [];

  constructor(private readonly body: Buffer) {
    this.bytes = body;
  }

  /** Forgets all fields, also those that were never joined. */
  clear(): void {
    this.bytes = this.body;
    this.start = this.end = 0;
    // Setting the length of an array is slow even if it is empty already.
    if (this.parts.length > 0) this.parts.length = 0;
  }

  /** Skips the reader's current field, and adds its bytes. `start` is the index of the field's tag. */
  addBytes(reader: WireReader, start: number): void {
    reader.skipBytes();
    this.add(start, reader.at);
  }

  /** Adds the field from `start`, the index of its tag, to `end`. */
  add(start: number, end: number): void {
    if (this.end === this.start) this.start = start;
    else if (this.end !== start) {
      this.parts.push(this.body.subarray(this.start, this.end));
      this.start = start;
    }
    this.end = end;
  }

  /** Joins the parts into one range of bytes. The result is valid until `clear`. */
  join(): Encoded {
    if (this.parts.length === 0) return this;
    this.parts.push(this.body.subarray(this.start, this.end));
    this.bytes = Buffer.concat(this.parts);
    this.parts.length = 0;
    this.start = 0;
    this.end = this.bytes.length;
    return this;
  }
}
