import { LRUCache } from 'lru-cache';
import { type Labels, labelsKey, METRIC_NAME, type NamedSeries, sourceOf } from '../model/labels';
import { type HashedLabels, hashedLabels, textBytesOf } from '../model/labels-hash';
import {
  type Columns,
  type ColumnsPart,
  type KnownSource,
  MAX_LABEL_BYTES,
  MAX_SAMPLES,
  MAX_SERIES_BYTES,
  MAX_SERIES_SETS,
  MAX_SOURCES,
  type SeriesList,
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
  /** The list that keeps the series, and its index there; undefined when it is not kept. */
  readonly list: ListOfSource | undefined;
  readonly index: number;
  /** Number of the last request that had the series. */
  lastRequest: number;
}

let ordinals = 0;
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
  const ordinal = ordinals++;
  return { labels, hashed, labelBytes, source, ordinal, list: undefined, index: 0, lastRequest: -1 };
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
let lists = 0;

/** Series of one source that the process keeps, each with its index. */
export class ListOfSource implements SeriesList {
  readonly key = `l${lists++}`;
  private readonly members: LabelledSeries[] = [];

  get count(): number {
    return this.members.length;
  }

  get isFull(): boolean {
    return this.count === MAX_LISTED;
  }

  /** Adds the series at index {@link count}. */
  add(series: LabelledSeries): void {
    this.members.push(series);
  }

  hashedAt(index: number): HashedLabels {
    return this.members[index]!.hashed;
  }

  series(indexes: ArrayLike<number>): NamedSeries[] {
    return Array.from(indexes, (index) => namedOf(this.members[index]!.labels));
  }
}

const TOO_MANY_LABELS = `more than ${MAX_LABEL_BYTES} bytes of series names and labels`;

/** Rows of one request. */
const MAX_ROWS = 32_768;

/** The samples of one source and time: where in the order of {@link LabelledRows.add} they lie, as pairs of start and end. */
interface Row {
  readonly timestamp: number;
  readonly runs: number[];
}

interface SourceOfRows {
  readonly source: SeriesSource;
  readonly rows: Map<number, Row>;
}

/** Gathers the samples of one request into rows, in order of arrival and within the bounds of a request. */
export class LabelledRows {
  private readonly request = requests++;
  private readonly sources = new Map<string, SourceOfRows>();
  private readonly series: LabelledSeries[] = [];
  private bits = new BigUint64Array(2048);
  /** The same, in halves: an integer of 64 bits would be an object for each sample. */
  private halves = new Int32Array(this.bits.buffer);
  private lastSource: SeriesSource | undefined;
  private lastTimestamp = Number.NaN;
  private lastRow!: Row;
  private rowCount = 0;
  private labelBytes = 0;
  private isFullOfSources = false;
  private left = 0;
  private excess: string | undefined;

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
   * @param low the lower half of a float64's eight bytes, as an int32; `high` is the other
   * @returns false when the sample is left out for a bound
   */
  add(series: LabelledSeries, timestamp: number, low: number, high: number): boolean {
    const index = this.series.length;
    if (index === MAX_SAMPLES) return this.leaveOut(1, `more than ${MAX_SAMPLES} samples`);
    if (series.lastRequest !== this.request) {
      if (this.labelBytes + series.labelBytes > MAX_LABEL_BYTES) {
        this.labelBytes = MAX_LABEL_BYTES + 1;
        return this.leaveOut(1, TOO_MANY_LABELS);
      }
      this.labelBytes += series.labelBytes;
      series.lastRequest = this.request;
    }
    // Samples mostly come scrape by scrape: the row is nearly always that of the sample before.
    if (series.source !== this.lastSource || timestamp !== this.lastTimestamp) {
      const row = this.rowOf(series, timestamp);
      if (row === undefined) return false;
      this.lastSource = series.source;
      this.lastTimestamp = timestamp;
      this.lastRow = row;
    }
    const { runs } = this.lastRow;
    if (runs[runs.length - 1] === index) runs[runs.length - 1] = index + 1;
    else runs.push(index, index + 1);
    if (index === this.bits.length) {
      const grown = new BigUint64Array(index * 2);
      grown.set(this.bits);
      this.bits = grown;
      this.halves = new Int32Array(grown.buffer);
    }
    // The processors of Lambda are little-endian.
    this.halves[2 * index] = low;
    this.halves[2 * index + 1] = high;
    this.series.push(series);
    return true;
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

  private rowOf({ source }: LabelledSeries, timestamp: number): Row | undefined {
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
      row = { timestamp, runs: [] };
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
      for (const { timestamp, runs } of rows.values()) {
        const series = this.seriesOf(runs);
        const columns = columnsOf(series);
        if (!known.has(columns.key)) {
          const bytes = series.reduce((sum, { labelBytes }) => sum + labelBytes, 0);
          if (setBytes + bytes > MAX_LABEL_BYTES || sets === MAX_SERIES_SETS) {
            this.leaveOut(
              series.length,
              `more than ${MAX_SERIES_SETS} rows of different series, or their names`,
            );
            continue;
          }
          known.add(columns.key);
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

  private seriesOf(runs: readonly number[]): LabelledSeries[] {
    if (runs.length === 2) return this.series.slice(runs[0], runs[1]);
    const series: LabelledSeries[] = [];
    for (let i = 0; i < runs.length; i += 2)
      for (let at = runs[i]!; at < runs[i + 1]!; at++) series.push(this.series[at]!);
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
}

/** The key has runs of consecutive ordinals, `0-699,702`, since a scrape's series were first seen in its order. */
function columnsOf(all: readonly LabelledSeries[]): Columns {
  let key = '';
  let isListed = true;
  for (let i = 0; i < all.length; ) {
    const first = all[i]!.ordinal;
    let length = 1;
    while (i + length < all.length && all[i + length]!.ordinal === first + length) length++;
    key += `${first}-${first + length - 1},`;
    i += length;
  }
  for (const { list } of all) if (list === undefined) isListed = false;
  const series = () => all.map(({ labels }) => namedOf(labels));
  if (!isListed) return { key, series };
  return {
    key,
    series,
    isListed,
    get parts() {
      return partsOf(all);
    },
  };
}

function partsOf(all: readonly LabelledSeries[]): ColumnsPart[] {
  const parts: ColumnsPart[] = [];
  for (let from = 0; from < all.length; ) {
    const list = all[from]!.list!;
    let to = from + 1;
    while (to < all.length && all[to]!.list === list) to++;
    const indexes = new Uint16Array(to - from);
    for (let i = from; i < to; i++) indexes[i - from] = all[i]!.index;
    parts.push({ list, count: to - from, indexes });
    from = to;
  }
  return parts;
}

function namedOf(labels: Labels): NamedSeries {
  return {
    labels: labels.filter(([name]) => name !== METRIC_NAME),
    names: [labels.find(([name]) => name === METRIC_NAME)![1]],
  };
}
