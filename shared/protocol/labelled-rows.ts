import { LRUCache } from 'lru-cache';
import { type Labels, labelsKey, METRIC_NAME, type NamedSeries, sourceOf } from '../model/labels';
import { type HashedLabels, hashedLabels, textBytesOf } from '../model/labels-hash';
import {
  type Columns,
  type ColumnsKey,
  type ColumnsPart,
  type KnownSource,
  MAX_LABEL_BYTES,
  MAX_SAMPLES,
  MAX_SERIES_BYTES,
  MAX_SERIES_SETS,
  MAX_SOURCES,
  type SeriesList,
  SeriesListId,
  type SourceRow,
  type SourceRows,
} from './protocol';

/** A series that cannot be stored; the message says why. */
export class InvalidSeriesError extends Error {
  override readonly name = 'InvalidSeriesError';
}

/** What a series' labels say of its source; the series of one source share it. */
interface SeriesSource extends KnownSource {
  /** {@link labelsKey} of the labels. */
  readonly key: string;
}

/** A series whose samples come one by one, with all its labels, as Prometheus and OpenTelemetry send them. */
export interface LabelledSeries {
  /** Sorted, `__name__` included. */
  readonly labels: Labels;
  readonly hashed: HashedLabels;
  /** Memory that a request's copy of the labels takes, about. */
  readonly labelBytes: number;
  readonly source: SeriesSource;
  /** Names the series within this process; never given twice, so that what is cached by it stays true. */
  readonly ordinal: number;
}

/** Series that the process keeps: each is a number above 0, its entry. */
export interface SeriesEntries {
  /** Sorted, `__name__` included. */
  labelsOf(entry: number): Labels;
  hashedOf(entry: number): HashedLabels;
  /** Memory that a request's copy of the labels takes, about. */
  labelBytesOf(entry: number): number;
  /** The list that has the series. */
  listOf(entry: number): ListOfSource;
  /** The series' index in its list. */
  indexOf(entry: number): number;
  /** Whether the request has not asked for the entry before. */
  isFirstIn(request: number, entry: number): boolean;
}

let ordinals = 0;
/** Numbers of requests, in 31 bits. */
let requests = 0;

const sources = new LRUCache<string, SeriesSource>({
  maxSize: 16_000_000,
  sizeCalculation: (_, key) => key.length + 200,
});

/** Beside the bytes of its name and value: what a label takes of memory, and of time where layouts are made. */
const LABEL_OVERHEAD = 64;

/**
 * Makes a series that was not seen before, or was forgotten.
 *
 * @param labels sorted, `__name__` included
 * @throws {InvalidSeriesError} when they have more than {@link MAX_SERIES_BYTES}
 */
export function labelledSeries(labels: Labels): LabelledSeries {
  const hashed = hashedLabels(labels);
  const bytes = textBytesOf(hashed);
  if (bytes > MAX_SERIES_BYTES)
    throw new InvalidSeriesError(`labels of ${bytes} bytes, ${MAX_SERIES_BYTES} are allowed`);
  const source = sourceOfSeries(labels);
  const labelBytes = bytes + LABEL_OVERHEAD * labels.length;
  return { labels, hashed, labelBytes, source, ordinal: ordinals++ };
}

/** The source of the last series, which most have in common with it. */
let lastSource: SeriesSource | undefined;

function sourceOfSeries(labels: Labels): SeriesSource {
  if (lastSource !== undefined && isOfTarget(lastSource, labels)) return lastSource;
  const sourceLabels = sourceOf.labels(labels);
  if (lastSource !== undefined && areEqual(lastSource.labels, sourceLabels)) return lastSource;
  const key = labelsKey(sourceLabels);
  const source = sources.get(key) ?? { labels: sourceLabels, key, place: undefined };
  sources.set(key, source);
  lastSource = source;
  return source;
}

/** Whether a source is named by job and instance, and {@link sourceOf.labels} of the labels are its. */
function isOfTarget({ labels: target }: SeriesSource, labels: Labels): boolean {
  let found = 0;
  for (const pair of labels) {
    const [name] = pair;
    if (name === 'host') return false;
    if (name !== 'instance' && name !== 'job') continue;
    const own = target[found++];
    if (own !== pair && (own === undefined || own[0] !== name || own[1] !== pair[1])) return false;
  }
  return found > 0 && found === target.length;
}

function areEqual(a: Labels, b: Labels): boolean {
  return a.length === b.length && a.every(([name, value], i) => name === b[i]![0] && value === b[i]![1]);
}

/** Series of a list; a source with more has several. */
const MAX_LISTED = 65_536;

/** Series of one source that the process keeps, each with its index. */
export class ListOfSource implements SeriesList {
  readonly id = new SeriesListId();
  private members = new Int32Array(16);
  private length = 0;

  constructor(
    readonly source: SeriesSource,
    private readonly entries: Pick<SeriesEntries, 'labelsOf' | 'hashedOf'>,
  ) {}

  get count(): number {
    return this.length;
  }

  get isFull(): boolean {
    return this.length === MAX_LISTED;
  }

  /** Adds the series at index {@link count}. */
  add(entry: number): void {
    if (this.length === this.members.length) {
      const grown = new Int32Array(2 * this.length);
      grown.set(this.members);
      this.members = grown;
    }
    this.members[this.length++] = entry;
  }

  hashedAt(index: number): HashedLabels {
    return this.entries.hashedOf(this.members[index]!);
  }

  series(indexes: ArrayLike<number>): NamedSeries[] {
    return Array.from(indexes, (index) => namedOf(this.entries.labelsOf(this.members[index]!)));
  }
}

const TOO_MANY_LABELS = `more than ${MAX_LABEL_BYTES} bytes of series names and labels`;

/** Rows of one request. */
const MAX_ROWS = 32_768;

/** The samples of one source and time: where in the order of {@link LabelledRows.add} they lie, as pairs of start and end. */
interface Row {
  readonly timestamp: number;
  readonly runs: number[];
  /** Whether some series are none that the process keeps. */
  hasStrangers: boolean;
}

interface SourceOfRows {
  readonly source: SeriesSource;
  readonly rows: Map<number, Row>;
}

/** Gathers the samples of one request into rows, in order of arrival and within the bounds of a request. */
export class LabelledRows {
  private readonly request = requests++ & 0x7fffffff;
  private readonly sources = new Map<string, SourceOfRows>();
  private count = 0;
  /** Entries; of a stranger -1 less its index. */
  private series = new Int32Array(2048);
  /** Series that the process does not keep. */
  private readonly strangers: LabelledSeries[] = [];
  private readonly seenStrangers = new Set<LabelledSeries>();
  private bits = new BigUint64Array(2048);
  /** The same, in halves: an integer of 64 bits would be an object for each sample. */
  private halves = new Int32Array(this.bits.buffer);
  private lastSource: SeriesSource | undefined;
  private lastList: ListOfSource | undefined;
  private lastTimestamp = Number.NaN;
  private lastRow!: Row;
  private rowCount = 0;
  private labelBytes = 0;
  private isFullOfSources = false;
  private left = 0;
  private excess: string | undefined;

  constructor(private readonly entries: SeriesEntries) {}

  /** Samples that were left out because the request exceeds a bound. */
  get beyond(): number {
    return this.left;
  }

  /** The first bound that the request exceeds. */
  get exceeded(): string | undefined {
    return this.excess;
  }

  /** Whether series that are not known are left out without a look: there is no room for their labels, or for more sources. */
  get isFull(): boolean {
    return this.labelBytes > MAX_LABEL_BYTES || this.isFullOfSources;
  }

  /**
   * @param series an entry, or a series that the process does not keep
   * @param low the lower half of a float64's eight bytes, as an int32; `high` is the other
   * @returns false when the sample is left out for a bound
   */
  add(series: number | LabelledSeries, timestamp: number, low: number, high: number): boolean {
    const index = this.count;
    if (index === MAX_SAMPLES) return this.leaveOut(1, `more than ${MAX_SAMPLES} samples`);
    if (this.isFirst(series)) {
      const labelBytes = typeof series === 'number' ? this.entries.labelBytesOf(series) : series.labelBytes;
      if (this.labelBytes + labelBytes > MAX_LABEL_BYTES) {
        this.labelBytes = MAX_LABEL_BYTES + 1;
        return this.leaveOut(1, TOO_MANY_LABELS);
      }
      this.labelBytes += labelBytes;
    }
    // Samples mostly come scrape by scrape: the row is nearly always that of the sample before.
    const list = typeof series === 'number' ? this.entries.listOf(series) : undefined;
    if (list === undefined || list !== this.lastList || timestamp !== this.lastTimestamp) {
      const source = typeof series === 'number' ? list!.source : series.source;
      if (source !== this.lastSource || timestamp !== this.lastTimestamp) {
        const row = this.rowOf(source, timestamp);
        if (row === undefined) return false;
        this.lastSource = source;
        this.lastTimestamp = timestamp;
        this.lastRow = row;
      }
      this.lastList = list;
    }
    const row = this.lastRow;
    const { runs } = row;
    if (runs[runs.length - 1] === index) runs[runs.length - 1] = index + 1;
    else runs.push(index, index + 1);
    if (index === this.bits.length) this.grow();
    // The processors of Lambda are little-endian.
    this.halves[2 * index] = low;
    this.halves[2 * index + 1] = high;
    if (typeof series === 'number') this.series[index] = series;
    else {
      row.hasStrangers = true;
      this.series[index] = -this.strangers.push(series);
    }
    this.count++;
    return true;
  }

  /** Whether the series has no sample in the request so far. */
  private isFirst(series: number | LabelledSeries): boolean {
    if (typeof series === 'number') return this.entries.isFirstIn(this.request, series);
    if (this.seenStrangers.has(series)) return false;
    this.seenStrangers.add(series);
    return true;
  }

  private grow(): void {
    const bits = new BigUint64Array(2 * this.bits.length);
    bits.set(this.bits);
    this.bits = bits;
    this.halves = new Int32Array(bits.buffer);
    const series = new Int32Array(2 * this.series.length);
    series.set(this.series);
    this.series = series;
  }

  /** Counts a sample whose series was not even made, as {@link isFull}. */
  leaveOutUnknown(): false {
    return this.leaveOut(1, TOO_MANY_LABELS);
  }

  private leaveOut(samples: number, bound: string): false {
    this.left += samples;
    this.excess ??= `${bound} in one request`;
    return false;
  }

  private rowOf(source: SeriesSource, timestamp: number): Row | undefined {
    let known = this.sources.get(source.key);
    if (known === undefined) {
      if (this.sources.size === MAX_SOURCES) {
        this.isFullOfSources = true;
        this.leaveOut(1, `more than ${MAX_SOURCES} sources`);
        return undefined;
      }
      known = { source, rows: new Map() };
      this.sources.set(source.key, known);
    }
    let row = known.rows.get(timestamp);
    if (row === undefined) {
      if (this.rowCount === MAX_ROWS) {
        this.leaveOut(1, `more than ${MAX_ROWS} sources and times`);
        return undefined;
      }
      this.rowCount++;
      row = { timestamp, runs: [], hasStrangers: false };
      known.rows.set(timestamp, row);
    }
    return row;
  }

  /** Ends the request; {@link beyond} is final after it. */
  finish(): { readonly sources: SourceRows[]; readonly samples: number } {
    const sources: SourceRows[] = [];
    let sets = 0;
    let setBytes = 0;
    let samples = 0;
    for (const { source, rows } of this.sources.values()) {
      const kept: SourceRow[] = [];
      const known = new Set<string>();
      for (const { timestamp, runs, hasStrangers } of rows.values()) {
        const series = this.seriesOf(runs);
        const columns = hasStrangers ? this.columnsOf(series) : new ListedColumns(this.entries, series);
        // A source's only row repeats no other.
        const key = rows.size === 1 ? undefined : columns.key;
        if (key === undefined || !known.has(key)) {
          const bytes = this.labelBytesOf(series);
          if (setBytes + bytes > MAX_LABEL_BYTES || sets === MAX_SERIES_SETS) {
            this.leaveOut(
              series.length,
              `more than ${MAX_SERIES_SETS} rows of different series, or their names`,
            );
            continue;
          }
          if (key !== undefined) known.add(key);
          setBytes += bytes;
          sets++;
        }
        kept.push({ timestamp, columns, values: this.valuesOf(runs, series.length) });
        samples += series.length;
      }
      if (kept.length > 0) sources.push([source, kept]);
    }
    return { sources, samples };
  }

  private seriesOf(runs: readonly number[]): Int32Array {
    if (runs.length === 2) return this.series.subarray(runs[0], runs[1]);
    const series = new Int32Array(lengthOf(runs));
    for (let i = 0, end = 0; i < runs.length; i += 2) {
      series.set(this.series.subarray(runs[i], runs[i + 1]), end);
      end += runs[i + 1]! - runs[i]!;
    }
    return series;
  }

  private valuesOf(runs: readonly number[], count: number): BigUint64Array {
    if (runs.length === 2) return this.bits.subarray(runs[0], runs[1]);
    const values = new BigUint64Array(count);
    for (let i = 0, end = 0; i < runs.length; i += 2) {
      values.set(this.bits.subarray(runs[i], runs[i + 1]), end);
      end += runs[i + 1]! - runs[i]!;
    }
    return values;
  }

  private labelBytesOf(series: Int32Array): number {
    let bytes = 0;
    for (const each of series)
      bytes += each > 0 ? this.entries.labelBytesOf(each) : this.strangers[-1 - each]!.labelBytes;
    return bytes;
  }

  /** The columns of a row that has strangers. */
  private columnsOf(series: Int32Array): Columns {
    const { entries, strangers } = this;
    let key = '';
    for (const each of series)
      key +=
        each > 0
          ? `l${entries.listOf(each).id.number} ${entries.indexOf(each)},`
          : `${strangers[-1 - each]!.ordinal},`;
    return {
      key: `series ${key}`,
      series: () =>
        Array.from(series, (each) =>
          namedOf(each > 0 ? entries.labelsOf(each) : strangers[-1 - each]!.labels),
        ),
    };
  }
}

function lengthOf(runs: readonly number[]): number {
  let length = 0;
  for (let i = 0; i < runs.length; i += 2) length += runs[i + 1]! - runs[i]!;
  return length;
}

/** Series of one source that the process keeps. */
interface ListedPart extends ColumnsPart {
  readonly list: ListOfSource;
  readonly indexes: Uint16Array;
}

/** The columns of a row all of whose series the process keeps. */
class ListedColumns implements Columns {
  readonly isListed = true;

  constructor(
    private readonly entries: SeriesEntries,
    private readonly all: Int32Array,
  ) {}

  /** Runs of consecutive indexes of lists, `l2 0-699,702-702`, since a scrape's series were first seen in its order. */
  get key(): ColumnsKey {
    let key = '';
    for (const { list, count, indexes } of this.parts) {
      key += `l${list.id.number} `;
      for (let i = 0; i < count; ) {
        const first = indexes[i]!;
        let length = 1;
        while (i + length < count && indexes[i + length] === first + length) length++;
        key += `${first}-${first + length - 1},`;
        i += length;
      }
    }
    return `series ${key}`;
  }

  series(): NamedSeries[] {
    return Array.from(this.all, (entry) => namedOf(this.entries.labelsOf(entry)));
  }

  get parts(): ListedPart[] {
    const { all, entries } = this;
    const parts: ListedPart[] = [];
    for (let from = 0; from < all.length; ) {
      const list = entries.listOf(all[from]!);
      let to = from + 1;
      while (to < all.length && entries.listOf(all[to]!) === list) to++;
      const indexes = new Uint16Array(to - from);
      for (let i = from; i < to; i++) indexes[i - from] = entries.indexOf(all[i]!);
      parts.push({ list, count: to - from, indexes });
      from = to;
    }
    return parts;
  }
}

function namedOf(labels: Labels): NamedSeries {
  return {
    labels: labels.filter(([name]) => name !== METRIC_NAME),
    names: [labels.find(([name]) => name === METRIC_NAME)![1]],
  };
}
