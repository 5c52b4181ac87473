import { LRUCache } from 'lru-cache';
import { type Labels, labelsKey, METRIC_NAME, sourceOf } from '../model/labels';
import type { Columns, SourceRow, SourceRows } from './protocol';

/** A series whose samples come one by one, with all its labels, as Prometheus and OpenTelemetry send them. */
export interface LabelledSeries {
  readonly labels: Labels;
  readonly source: Labels;
  /** {@link labelsKey} of the source. */
  readonly sourceKey: string;
  /** Names the series within this process; never given twice, so that what is cached by it stays true. */
  readonly ordinal: number;
}

interface Row {
  readonly series: LabelledSeries[];
  values: BigUint64Array;
}

let ordinals = 0;

/** Sources, so that the series of one share their text. */
const sources = new LRUCache<string, Pick<LabelledSeries, 'source' | 'sourceKey'>>({
  maxSize: 16_000_000,
  sizeCalculation: (_, key) => key.length + 200,
});

/**
 * Makes a series that was not seen before, or was forgotten.
 *
 * @param labels valid: sorted, `__name__` included
 */
export function labelledSeries(labels: Labels): LabelledSeries {
  const source = sourceOf.labels(labels);
  const sourceKey = labelsKey(source);
  const shared = sources.get(sourceKey) ?? { source, sourceKey };
  sources.set(sourceKey, shared);
  return { labels, ...shared, ordinal: ordinals++ };
}

/** Gathers the samples of one request into rows. */
export class LabelledRows {
  private readonly sources = new Map<string, { readonly labels: Labels; readonly rows: Map<number, Row> }>();
  private lastSource: Labels | undefined;
  private lastTimestamp = Number.NaN;
  private lastRow: Row | undefined;
  samples = 0;

  /** @param bits a float64's eight bytes as an integer */
  add(series: LabelledSeries, timestamp: number, bits: bigint): void {
    const row = this.rowOf(series, timestamp);
    const index = row.series.length;
    if (index === row.values.length) {
      const grown = new BigUint64Array(index * 2);
      grown.set(row.values);
      row.values = grown;
    }
    row.values[index] = bits;
    row.series.push(series);
    this.samples++;
  }

  /** Samples mostly come scrape by scrape: the row is nearly always that of the sample before. */
  private rowOf({ source, sourceKey }: LabelledSeries, timestamp: number): Row {
    if (this.lastRow !== undefined && source === this.lastSource && timestamp === this.lastTimestamp)
      return this.lastRow;
    let known = this.sources.get(sourceKey);
    if (known === undefined) {
      known = { labels: source, rows: new Map() };
      this.sources.set(sourceKey, known);
    }
    let row = known.rows.get(timestamp);
    if (row === undefined) {
      row = { series: [], values: new BigUint64Array(16) };
      known.rows.set(timestamp, row);
    }
    this.lastSource = source;
    this.lastTimestamp = timestamp;
    this.lastRow = row;
    return row;
  }

  finish(): SourceRows[] {
    return Array.from(this.sources.values(), ({ labels, rows }) => [
      labels,
      Array.from(rows, ([timestamp, row]) => sourceRow(timestamp, row)),
    ]);
  }
}

function sourceRow(timestamp: number, { series, values }: Row): SourceRow {
  return { timestamp, columns: columnsOf(series), values: values.subarray(0, series.length) };
}

/** The key has runs of consecutive ordinals, `0-699,702`, since a scrape's series were first seen in its order. */
function columnsOf(series: readonly LabelledSeries[]): Columns {
  let key = '';
  for (let i = 0; i < series.length; ) {
    const first = series[i]!.ordinal;
    let length = 1;
    while (i + length < series.length && series[i + length]!.ordinal === first + length) length++;
    key += `${first}-${first + length - 1},`;
    i += length;
  }
  return {
    key,
    series: () =>
      series.map(({ labels }) => ({
        labels: labels.filter(([name]) => name !== METRIC_NAME),
        names: [labels.find(([name]) => name === METRIC_NAME)![1]],
      })),
  };
}
