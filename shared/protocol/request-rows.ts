import type { SeriesDictionary } from '../dictionary/series-dictionary';
import type { SeriesSource, SourceRow, SourceRows } from '../dictionary/series-source';
import { MAX_LABEL_BYTES, MAX_REQUEST_SAMPLES, MAX_ROWS, MAX_SERIES_SETS, MAX_SOURCES } from './body-bounds';

/**
 * Number of bytes that each label counts as, in addition to its name and value. They account for the memory and time
 * that layouts with this label take.
 */
const LABEL_OVERHEAD = 56;

const TOO_MANY_SOURCES = `more than ${MAX_SOURCES} sources`;
export const TOO_MANY_SETS = `more than ${MAX_SERIES_SETS} rows of different series`;
const TOO_MANY_LABELS = `more than ${MAX_LABEL_BYTES} bytes of series names and labels`;

/** The samples of one source and timestamp. */
export class Row {
  /** Ranges of the row's samples in order of arrival: pairs of start and end. */
  readonly runs: number[] = [];
  samples = 0;
  /** Number of calls that added samples. */
  additions = 0;

  constructor(readonly timestamp: number) {}
}

/**
 * Collects the samples of one request into rows, in order of arrival. Leaves out and counts the samples that exceed a
 * limit of the request.
 */
export class RequestRows {
  /** Series of all samples, in order of arrival. */
  series = new Int32Array(2048);
  /** Values of all samples. `bits` and `halves` are views of the same bytes. */
  numbers = new Float64Array(2048);
  private bits = new BigUint64Array(this.numbers.buffer);
  /** Each value as two int32. Writing a 64-bit integer instead would allocate a BigInt for every sample. */
  private halves = new Int32Array(this.numbers.buffer);
  private count = 0;
  private readonly request: number;
  /** The rows of each source, by timestamp. */
  private readonly sources = new Map<SeriesSource, Map<number, Row>>();
  private lastSource: SeriesSource | undefined;
  private lastRow!: Row;
  private rowCount = 0;
  private labelBytes = 0;
  private isFullOfSources = false;
  /** Number of samples that were left out because the request exceeds a bound. */
  beyond = 0;
  private excess: string | undefined;

  constructor(private readonly dictionary: SeriesDictionary) {
    this.request = dictionary.beginRequest();
  }

  /** Description of the first bound that the request exceeded. */
  get exceeded(): string | undefined {
    return this.excess;
  }

  /**
   * Whether the request has reached its bound on labels or on sources. If so, the parser skips unknown series, and does
   * not decode them.
   */
  get isFull(): boolean {
    return this.labelBytes > MAX_LABEL_BYTES || this.isFullOfSources;
  }

  /**
   * Adds a sample.
   *
   * @param low lower 32 bits of the value, as an int32; `high` has the upper 32 bits
   * @returns false when the sample is left out because of a bound
   */
  add(series: number, timestamp: number, low: number, high: number): boolean {
    const { dictionary } = this;
    if (this.count === MAX_REQUEST_SAMPLES)
      return this.leaveOut(1, `more than ${MAX_REQUEST_SAMPLES} samples`);
    if (dictionary.isFirstIn(this.request, series)) {
      const labelBytes = this.labelBytesOf(series);
      if (this.labelBytes + labelBytes > MAX_LABEL_BYTES) {
        this.labelBytes = MAX_LABEL_BYTES + 1;
        return this.leaveOut(1, TOO_MANY_LABELS);
      }
      this.labelBytes += labelBytes;
    }
    const source = dictionary.sourceOfSeries(series);
    let row = this.lastRow;
    // Samples usually come scrape by scrape, so a sample nearly always belongs to the same row as the previous one.
    if (source !== this.lastSource || timestamp !== row.timestamp) {
      const found = this.rowOf(source, timestamp, MAX_ROWS);
      if (typeof found === 'string') {
        this.isFullOfSources ||= found === TOO_MANY_SOURCES;
        return this.leaveOut(1, found);
      }
      row = found;
    }
    const at = this.extend(row, 1);
    this.series[at] = series;
    // The lower half comes first, because Lambda's processors are little-endian.
    this.halves[2 * at] = low;
    this.halves[2 * at + 1] = high;
    return true;
  }

  /** Counts a sample of an unknown series that the parser skipped because {@link isFull} was true. */
  leaveOutUnknown(): false {
    return this.leaveOut(1, TOO_MANY_LABELS);
  }

  /** Counts the samples of a row that {@link finish} left out. */
  leaveOutRow({ samples }: Row): void {
    this.leaveOut(samples, `${TOO_MANY_SETS}, or their names`);
  }

  private leaveOut(samples: number, bound: string): false {
    this.beyond += samples;
    this.excess ??= `${bound} in one request`;
    return false;
  }

  /**
   * Returns the row of a source and time.
   *
   * @returns the row; or a string that describes the bound which another row would exceed
   */
  rowOf(source: SeriesSource, timestamp: number, maxRows: number): Row | string {
    let rows = this.sources.get(source);
    let row = rows?.get(timestamp);
    if (row === undefined) {
      if (rows === undefined && this.sources.size === MAX_SOURCES) return TOO_MANY_SOURCES;
      if (this.rowCount === maxRows) return `more than ${maxRows} sources and times`;
      if (rows === undefined) {
        rows = new Map();
        this.sources.set(source, rows);
      }
      row = new Row(timestamp);
      rows.set(timestamp, row);
      this.rowCount++;
    }
    this.lastSource = source;
    this.lastRow = row;
    return row;
  }

  /**
   * Makes room for samples at the end of a row.
   *
   * @returns the index of the first one in {@link series} and {@link numbers}
   */
  extend(row: Row, samples: number): number {
    const start = this.count;
    const end = start + samples;
    const { runs } = row;
    if (runs[runs.length - 1] === start) runs[runs.length - 1] = end;
    else runs.push(start, end);
    row.samples += samples;
    row.additions++;
    this.count = end;
    if (end > this.series.length) this.grow(end);
    return start;
  }

  private grow(atLeast: number): void {
    const length = Math.max(atLeast, 2 * this.series.length);
    const series = new Int32Array(length);
    series.set(this.series);
    this.series = series;
    const bits = new BigUint64Array(length);
    bits.set(this.bits);
    this.bits = bits;
    this.numbers = new Float64Array(bits.buffer);
    this.halves = new Int32Array(bits.buffer);
  }

  /**
   * Completes the request; {@link beyond} is final afterwards. Bounds the number of rows with different series, because
   * post may create a layout for each of them.
   *
   * @param maxSetBytes maximum total size of these rows' labels, in bytes
   * @param onLeftOut called with each row that exceeds a bound, and the series of its samples
   */
  finish(
    maxSetBytes = MAX_LABEL_BYTES,
    onLeftOut: (row: Row, series: Int32Array) => void = (row) => this.leaveOutRow(row),
  ): { readonly sources: SourceRows[]; readonly samples: number } {
    const sources: SourceRows[] = [];
    let sets = 0;
    let setBytes = 0;
    let samples = 0;
    const isBounded = maxSetBytes < Infinity || this.rowCount > MAX_SERIES_SETS;
    for (const [source, rows] of this.sources) {
      const kept: SourceRow[] = [];
      const known = new Set<string>();
      for (const row of rows.values()) {
        const series = gather(this.series, row, Int32Array);
        // A source with a single row cannot have two rows with the same series.
        const key = rows.size === 1 || !isBounded ? undefined : keyOf(series);
        if (isBounded && (key === undefined || !known.has(key))) {
          const bytes = maxSetBytes < Infinity ? this.bytesOf(series) : 0;
          if (setBytes + bytes > maxSetBytes || sets === MAX_SERIES_SETS) {
            onLeftOut(row, series);
            continue;
          }
          if (key !== undefined) known.add(key);
          setBytes += bytes;
          sets++;
        }
        kept.push({
          timestamp: row.timestamp,
          series,
          values: gather(this.bits, row, BigUint64Array),
        });
        samples += row.samples;
      }
      if (kept.length > 0) sources.push([source, kept]);
    }
    return { sources, samples };
  }

  /** Returns the approximate memory that a copy of a series' labels takes, in bytes. */
  labelBytesOf(series: number): number {
    return this.dictionary.keyBytesOf(series) + LABEL_OVERHEAD * this.dictionary.labelCountOf(series);
  }

  private bytesOf(series: Int32Array): number {
    let bytes = 0;
    for (const each of series) bytes += this.labelBytesOf(each);
    return bytes;
  }
}

function keyOf({ buffer, byteOffset, byteLength }: Int32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
}

function gather<Values extends Int32Array | BigUint64Array>(
  all: Values,
  { runs, samples }: Row,
  Kind: new (length: number) => Values,
): Values {
  if (runs.length === 2) return all.subarray(runs[0], runs[1]) as Values;
  const values = new Kind(samples);
  for (let i = 0, end = 0; i < runs.length; i += 2) {
    values.set(all.subarray(runs[i], runs[i + 1]) as never, end);
    end += runs[i + 1]! - runs[i]!;
  }
  return values;
}
