/**
 * InfluxDB line protocol, read from its bytes without copying them.
 *
 *     measurement[,tag=value]... field=value[,field=value]... [timestamp]
 *
 * A backslash escapes a comma, a space and (except in a measurement) an equals sign; before any other
 * character it stands for itself. Strings are in double quotes, may contain line ends, and escape `\"` and
 * `\\`. Lines starting with `#` are comments.
 *
 * @see https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/
 */

const MAX_LINE_FIELDS = 65_536;

/** Units of timestamps, by their names in the parameter `precision` of InfluxDB 1 and 2. */
export const PRECISIONS = ['ns', 'n', 'us', 'u', 'µ', 'ms', 's', 'm', 'h'] as const;
export type Precision = (typeof PRECISIONS)[number];

/** Length of each precision's unit in ms. */
export const MS_OF_PRECISION: Readonly<Record<Precision, number>> = {
  ns: 1e-6,
  n: 1e-6,
  us: 1e-3,
  u: 1e-3,
  µ: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

const NEWLINE = 0x0a;
const RETURN = 0x0d;
export const SPACE = 0x20;
const QUOTE = 0x22;
const HASH = 0x23;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
export const EQUALS = 0x3d;
const BACKSLASH = 0x5c;

/** Powers of ten that a float64 holds exactly. */
const POWERS = Float64Array.from({ length: 23 }, (_, i) => Number(`1e${i}`));
/** Every integer with at most this many decimal digits is exact as a float64. */
const EXACT_DIGITS = 15;
const MAX_TIMESTAMP_DIGITS = 19;
const MAX_INT64 = 2n ** 63n - 1n;
const MAX_UINT64 = 2n ** 64n - 1n;
const BOOLEANS: ReadonlyMap<string, number> = new Map([
  ...['t', 'T', 'true', 'True', 'TRUE'].map((text) => [text, 1] as const),
  ...['f', 'F', 'false', 'False', 'FALSE'].map((text) => [text, 0] as const),
]);

/** A syntax error in a line. Thrown only inside this file. */
class BadLine extends Error {}
const UNBALANCED = 'unbalanced quotes';

/**
 * The names that earlier lines had, so that the reader need not search for their ends again. A _head_ is a line's
 * measurement and tags.
 */
export interface KnownNames<Head extends { readonly length: number }> {
  /** Returns the head that probably comes next, if its bytes and a space begin at `at`. */
  guessHead(body: Buffer, at: number): Head | undefined;
  findHead(body: Buffer, start: number, end: number): Head | undefined;
  /**
   * Guesses the next field key of a head.
   *
   * @returns the index just past the key that probably comes next, if its bytes and an equals sign begin at `at`; else
   *   -1. No key ends in a backslash, so the equals sign is not escaped
   */
  guessKey(head: Head, body: Buffer, at: number): number;
  /** Number of the name that {@link guessKey} found. */
  readonly guessedName: number;
}

/**
 * Reads a body line by line. The reader's properties describe the current line until the next call of {@link next}.
 *
 *     const reader = new LineReader(bytes, 'ns', names);
 *     while (reader.next()) if (reader.problem === undefined) use(reader);
 */
export class LineReader<Head extends { readonly length: number }> {
  /**
   * Line number, starting at 1. If a string in the line contains line ends, this is the number at which the line
   * begins.
   */
  line = 0;
  /** The reason why the line is invalid; undefined when it is valid. */
  problem: string | undefined;
  /** Half-open range of measurement and tags in the body. */
  headStart = 0;
  headEnd = 0;
  count = 0;
  /** Half-open range of each numeric field's key in the body. */
  keyStarts = new Int32Array(128);
  keyEnds = new Int32Array(128);
  /** For each numeric field, the number of its name if the reader guessed its key; else -1. */
  names = new Int32Array(128);
  values = new Float64Array(128);
  /** The known head for the line's measurement and tags. */
  head: Head | undefined;
  /** Number of string fields, which are skipped. */
  strings = 0;
  /** Timestamp in ms, rounded down; undefined when the line has none. */
  timestampMs: number | undefined;

  private readonly buffer: Buffer;
  private at = 0;
  /** Number of line ends since the start of the current line; 1 before the first line. */
  private lineEnds = 1;
  /** To convert a timestamp to ms, the reader drops its last digits, then multiplies it. */
  private readonly droppedDigits: number;
  private readonly msFactor: number;

  constructor(
    bytes: Uint8Array,
    precision: Precision,
    private readonly known: KnownNames<Head>,
  ) {
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const unitMs = MS_OF_PRECISION[precision];
    this.droppedDigits = unitMs < 1 ? Math.round(-Math.log10(unitMs)) : 0;
    this.msFactor = Math.max(1, unitMs);
  }

  /**
   * Reads the next line that is neither blank nor a comment.
   *
   * @returns false at the end of the body
   */
  next(): boolean {
    const { buffer } = this;
    while (this.at < buffer.length) {
      this.line += this.lineEnds;
      this.lineEnds = 0;
      this.skipSpaces();
      const first = buffer[this.at];
      if (first === undefined) return false;
      if (first !== NEWLINE && first !== HASH) {
        this.readLine();
        return true;
      }
      this.skipLine();
    }
    return false;
  }

  private readLine(): void {
    const start = this.at;
    this.problem = undefined;
    this.count = 0;
    this.head = undefined;
    this.strings = 0;
    this.timestampMs = undefined;
    try {
      this.readHead();
      this.readFields();
      this.timestampMs = this.readTimestamp();
    } catch (error) {
      if (!(error instanceof BadLine)) throw error;
      this.problem = error.message;
      // After an unterminated string, continue with the next line, or the string would swallow all lines
      // after it.
      if (error.message === UNBALANCED) {
        this.at = start;
        this.lineEnds = 0;
      }
    }
    this.skipLine();
  }

  /** Moves just past the end of the line. */
  private skipLine(): void {
    this.lineEnds++;
    if (this.buffer[this.at] === NEWLINE) {
      this.at++;
      return;
    }
    const end = this.buffer.indexOf(NEWLINE, this.at);
    this.at = end === -1 ? this.buffer.length : end + 1;
  }

  private skipSpaces(): void {
    const { buffer } = this;
    let at = this.at;
    while (buffer[at] === SPACE || buffer[at] === RETURN) at++;
    this.at = at;
  }

  private readHead(): void {
    const { buffer } = this;
    const { length } = buffer;
    let at = this.at;
    this.headStart = at;
    this.head = this.known.guessHead(buffer, at);
    if (this.head !== undefined) at += this.head.length;
    for (; this.head === undefined && at < length; at++) {
      const byte = buffer[at]!;
      if (byte > BACKSLASH) continue;
      if (byte === BACKSLASH) {
        if (isEscaped(buffer[at + 1])) at++;
      } else if (byte === SPACE || byte === NEWLINE) break;
    }
    this.headEnd = at;
    this.at = at;
    if (buffer[this.headStart] === COMMA) throw new BadLine('missing measurement');
    if (buffer[at] !== SPACE) throw new BadLine('missing fields');
    this.skipSpaces();
    if (this.at === length || buffer[this.at] === NEWLINE) throw new BadLine('missing fields');
    this.head ??= this.known.findHead(buffer, this.headStart, this.headEnd);
  }

  private readFields(): void {
    const { buffer, known, head } = this;
    for (;;) {
      const start = this.at;
      let at = head === undefined ? -1 : known.guessKey(head, buffer, start);
      const name = at === -1 ? -1 : known.guessedName;
      if (at === -1) {
        for (at = start; ; at++) {
          const byte = buffer[at]!;
          // Skip letters first: most bytes of a key are letters.
          if (byte > BACKSLASH) continue;
          if (byte === EQUALS) break;
          if (byte === BACKSLASH) {
            if (isEscaped(buffer[at + 1])) at++;
          } else if (byte === undefined || byte === COMMA || byte === SPACE || byte === NEWLINE) {
            this.at = Math.min(at, buffer.length);
            throw new BadLine('missing field value');
          }
        }
      }
      this.at = at;
      if (at === start) throw new BadLine('missing field key');
      this.at++;
      if (buffer[this.at] === QUOTE) this.skipString();
      else {
        const value = this.readValue();
        if (this.count === this.values.length) this.grow();
        this.keyStarts[this.count] = start;
        this.keyEnds[this.count] = at;
        this.names[this.count] = name;
        this.values[this.count++] = value;
      }
      if (this.count + this.strings > MAX_LINE_FIELDS)
        throw new BadLine(`more than ${MAX_LINE_FIELDS} fields`);
      if (buffer[this.at] !== COMMA) break;
      this.at++;
    }
  }

  private grow(): void {
    const length = this.values.length * 2;
    const grown = <T extends Int32Array | Float64Array>(to: T, from: T): T => {
      to.set(from);
      return to;
    };
    this.keyStarts = grown(new Int32Array(length), this.keyStarts);
    this.keyEnds = grown(new Int32Array(length), this.keyEnds);
    this.names = grown(new Int32Array(length), this.names);
    this.values = grown(new Float64Array(length), this.values);
  }

  private skipString(): void {
    const { buffer } = this;
    for (let at = this.at + 1; at < buffer.length; at++) {
      const byte = buffer[at]!;
      if (byte === BACKSLASH) {
        if (buffer[at + 1] === QUOTE || buffer[at + 1] === BACKSLASH) at++;
      } else if (byte === NEWLINE) this.lineEnds++;
      else if (byte === QUOTE) {
        this.at = at + 1;
        this.strings++;
        if (!isValueEnd(buffer[this.at])) throw new BadLine('text after the end of a string');
        return;
      }
    }
    this.at = buffer.length;
    throw new BadLine(UNBALANCED);
  }

  /** Reads a float, an integer with its suffix `i` or `u`, or a boolean. */
  private readValue(): number {
    const { buffer } = this;
    const start = this.at;
    let at = start;
    const first = buffer[at];
    const isNegative = first === MINUS;
    if (isNegative || first === PLUS) at++;
    let mantissa = 0;
    let digits = 0;
    let decimals = 0;
    let byte = buffer[at]!;
    for (; byte >= ZERO && byte <= NINE; byte = buffer[++at]!, digits++)
      mantissa = mantissa * 10 + byte - ZERO;
    if (byte === DOT) {
      byte = buffer[++at]!;
      const pointAt = at;
      for (; byte >= ZERO && byte <= NINE; byte = buffer[++at]!) mantissa = mantissa * 10 + byte - ZERO;
      decimals = at - pointAt;
      digits += decimals;
    }
    // Both operands are exact, so the quotient is the float64 nearest to the decimal.
    if (digits > 0 && digits <= EXACT_DIGITS && isValueEnd(byte)) {
      this.at = at;
      const value = decimals === 0 ? mantissa : mantissa / POWERS[decimals]!;
      return isNegative ? -value : value;
    }
    while (!isValueEnd(buffer[at])) at++;
    this.at = at;
    return slowValue(buffer.toString('latin1', start, at));
  }

  private readTimestamp(): number | undefined {
    const { buffer } = this;
    this.skipSpaces();
    const isNegative = buffer[this.at] === MINUS;
    const start = isNegative ? this.at + 1 : this.at;
    let end = start;
    while (buffer[end]! >= ZERO && buffer[end]! <= NINE) end++;
    this.at = end;
    this.skipSpaces();
    const isEnd = this.at >= buffer.length || buffer[this.at] === NEWLINE;
    if (isEnd && start === end && !isNegative) return undefined;
    if (!isEnd || start === end || end - start > MAX_TIMESTAMP_DIGITS) throw new BadLine('bad timestamp');
    let ms = 0;
    for (let at = start; at < end - this.droppedDigits; at++) ms = ms * 10 + buffer[at]! - ZERO;
    ms *= this.msFactor;
    return isNegative ? -ms : ms;
  }
}

function isEscaped(byte: number | undefined): boolean {
  return byte === COMMA || byte === SPACE || byte === EQUALS;
}

function isValueEnd(byte: number | undefined): boolean {
  return byte === COMMA || byte === SPACE || byte === NEWLINE || byte === RETURN || byte === undefined;
}

/** Parses values that the fast path cannot parse: exponents, more than 15 digits, integers and booleans. */
function slowValue(text: string): number {
  if (/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text)) {
    const value = Number(text);
    if (!Number.isFinite(value)) throw new BadLine('number out of the range of float64');
    return value;
  }
  if (/^[-+]?\d{1,20}i$/.test(text)) {
    const value = BigInt(text.slice(text.startsWith('+') ? 1 : 0, -1));
    if (value > MAX_INT64 || value < -MAX_INT64 - 1n)
      throw new BadLine('integer out of the range of 64 bits');
    return Number(value);
  }
  if (/^\d{1,20}u$/.test(text)) {
    const value = BigInt(text.slice(0, -1));
    if (value > MAX_UINT64) throw new BadLine('integer out of the range of 64 bits');
    return Number(value);
  }
  const value = BOOLEANS.get(text);
  if (value === undefined) throw new BadLine('bad field value');
  return value;
}

/** A line's measurement and tags, without escapes. */
export interface ParsedHead {
  readonly measurement: string;
  readonly tags: readonly (readonly [key: string, value: string])[];
}

/**
 * Parses measurement and tags.
 *
 * @param head text from {@link LineReader.headStart} to {@link LineReader.headEnd}
 * @returns measurement and tags; or a string with the reason why the line is invalid
 */
export function parseHead(head: string): ParsedHead | string {
  const [measurement, ...pairs] = splitUnescaped(head, ',');
  const tags: (readonly [string, string])[] = [];
  for (const pair of pairs) {
    const [key, value, ...more] = splitUnescaped(pair, '=');
    if (!key) return 'missing tag key';
    if (!value) return 'missing tag value';
    if (more.length > 0) return 'an equals sign in a tag value is not escaped';
    tags.push([unescapeName(key), unescapeName(value)]);
  }
  return { measurement: measurement!.replace(/\\([, ])/g, '$1'), tags };
}

/** Removes the escapes of a tag key, tag value or field key. */
export function unescapeName(text: string): string {
  return text.includes('\\') ? text.replace(/\\([, =])/g, '$1') : text;
}

function splitUnescaped(text: string, separator: ',' | '='): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\' && isEscaped(text.charCodeAt(at + 1))) at++;
    else if (text[at] === separator) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}
