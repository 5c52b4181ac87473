/**
 * Numbers are multiplied by this factor. If the product is an integer, this module writes the number;
 * otherwise the runtime converts it.
 */
const DECIMALS = 1000;
/**
 * Integers below this have at most 15 digits. Divided by a power of ten, they give back their shortest
 * decimal text.
 */
const MAX_DIGITS = 1e15;
/** Bound on the text of a number. The longest is `-1.7976931348623157e+308`. */
const MAX_NUMBER_BYTES = 32;

const ZERO = 0x30;
const MINUS = 0x2d;
const POINT = 0x2e;

/** Largest buffer that is kept for the next writer, in bytes. */
const MAX_SPARE_BYTES = 4 * 1024 * 1024;
const LEAST_BYTES = 16_384;
/**
 * Largest buffer of the finished writers, reused by the next one. Growing a buffer for 1 MB of answer takes 2
 * MB.
 */
let spare: Buffer | undefined;
const NO_BYTES = Buffer.alloc(0);

function takeSpare(): Buffer {
  const bytes = spare ?? Buffer.allocUnsafe(LEAST_BYTES);
  spare = undefined;
  return bytes;
}

/**
 * Writes JSON into one buffer, without building objects. Answers are nearly all numbers, most with at most
 * three decimals; those take a tenth of the time of the runtime's conversion.
 */
export class JsonWriter {
  private bytes = takeSpare();
  private end = 0;
  /**
   * The last number that the runtime converted, and the range of its text in the buffer. Metrics often repeat
   * a value, so the text is copied.
   */
  private last = Number.NaN;
  private lastStart = 0;
  private lastEnd = 0;

  /** Writes text unchanged. */
  raw(text: string): this {
    this.reserve(3 * text.length);
    this.end += this.bytes.write(text, this.end);
    return this;
  }

  /** Writes a value with `JSON.stringify`. */
  value(value: unknown): this {
    return this.raw(JSON.stringify(value));
  }

  /**
   * Writes a number so that it reads back unchanged. Infinities and NaN become `null`, as with
   * `JSON.stringify`.
   */
  number(value: number): this {
    this.reserve(MAX_NUMBER_BYTES);
    const size = Math.abs(value);
    if (size < MAX_DIGITS) {
      const thousandths = Math.round(size * DECIMALS);
      const whole = Math.floor(size);
      if (whole === size) {
        // This leaves -0 without a sign, as `JSON.stringify` does.
        if (value < 0) this.bytes[this.end++] = MINUS;
        this.integer(whole);
        return this;
      }
      // IEEE division rounds correctly, so a decimal of at most 15 digits that gives this number is unique.
      if (thousandths < MAX_DIGITS && thousandths / DECIMALS === size) {
        if (value < 0) this.bytes[this.end++] = MINUS;
        this.integer(whole);
        this.fraction(thousandths - whole * DECIMALS);
        return this;
      }
    }
    this.any(value);
    return this;
  }

  /** Writes `[a,b,c]`. */
  numbers(values: ArrayLike<number>): this {
    this.reserve(2);
    this.bytes[this.end++] = 0x5b;
    for (let i = 0; i < values.length; i++) {
      if (i > 0) this.bytes[this.end++] = 0x2c;
      this.number(values[i]!);
      this.reserve(2);
    }
    this.bytes[this.end++] = 0x5d;
    return this;
  }

  /** Returns the text written so far and empties the writer. */
  text(): string {
    const text = this.bytes.toString('utf8', 0, this.end);
    const isLarger = this.bytes.length > (spare?.length ?? 0);
    if (isLarger && this.bytes.length <= MAX_SPARE_BYTES) spare = this.bytes;
    this.bytes = NO_BYTES;
    this.end = 0;
    this.last = Number.NaN;
    return text;
  }

  private any(value: number): void {
    const start = this.end;
    if (value === this.last) {
      this.bytes.copyWithin(start, this.lastStart, this.lastEnd);
      this.end += this.lastEnd - this.lastStart;
    } else {
      this.end += this.bytes.write(Number.isFinite(value) ? String(value) : 'null', start, 'latin1');
      this.last = value;
      this.lastStart = start;
      this.lastEnd = this.end;
    }
  }

  /** @param value an integer from 0 to below {@link MAX_DIGITS} */
  private integer(value: number): void {
    if (value < 1e9) {
      this.digits(value, digitsOf(value));
      return;
    }
    const high = Math.floor(value / 1e9);
    this.digits(high, digitsOf(high));
    this.digits(value - high * 1e9, 9);
  }

  /** @param value below 1e9 */
  private digits(value: number, count: number): void {
    const { bytes } = this;
    let rest = value | 0;
    for (let at = this.end + count - 1; at >= this.end; at--) {
      const next = (rest / 10) | 0;
      bytes[at] = ZERO + rest - 10 * next;
      rest = next;
    }
    this.end += count;
  }

  /** @param thousandths 1 to 999 */
  private fraction(thousandths: number): void {
    this.bytes[this.end++] = POINT;
    if (thousandths % 100 === 0) this.digits(thousandths / 100, 1);
    else if (thousandths % 10 === 0) this.digits(thousandths / 10, 2);
    else this.digits(thousandths, 3);
  }

  private reserve(bytes: number): void {
    if (this.end + bytes <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(LEAST_BYTES, 2 * this.bytes.length, this.end + bytes));
    this.bytes.copy(grown, 0, 0, this.end);
    this.bytes = grown;
  }
}

/** @param value an integer from 0 to below 1e9 */
function digitsOf(value: number): number {
  if (value < 1e3) return value < 10 ? 1 : value < 100 ? 2 : 3;
  if (value < 1e6) return value < 1e4 ? 4 : value < 1e5 ? 5 : 6;
  return value < 1e7 ? 7 : value < 1e8 ? 8 : 9;
}
