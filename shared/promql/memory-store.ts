import { type Labels, labelsKey } from '../model/labels';
import { type Matcher, seriesTest } from '../model/matcher';
import { firstFrom, type SampleColumns } from '../model/sample-columns';
import type { TimeRange } from '../model/selection';
import type { SampleStore, SelectedSamples } from './store';

/** Bits of Prometheus' stale marker, which marks the end of a series. */
export const STALE_BITS = 0x7ff0000000000002n;

/** Samples of a series, sorted by time. */
interface Column {
  readonly labels: Labels;
  length: number;
  timestamps: Float64Array;
  /**
   * A view of `bits`. Values are copied as bits, because JavaScript may change the bits of a NaN that is read
   * as a number.
   */
  values: Float64Array;
  bits: BigUint64Array;
}

/** Keeps series in objects: in tests of rules, and for results that are not in the stream yet. */
export class MemorySampleStore implements SampleStore {
  private readonly columns = new Map<string, Column>();

  /**
   * Adds a sample, replacing any sample at the same time.
   *
   * @param value a number, or its 64 bits
   */
  add(labels: Labels, timestampMs: number, value: number | bigint): void {
    const key = labelsKey(labels);
    let column = this.columns.get(key);
    if (column === undefined) {
      column = { labels, length: 0, ...buffers(4) };
      this.columns.set(key, column);
    }
    const at =
      column.length === 0 || column.timestamps[column.length - 1]! < timestampMs
        ? column.length
        : firstFrom(column.timestamps, timestampMs, column.length);
    if (column.timestamps[at] !== timestampMs || at >= column.length) insertAt(column, at);
    column.timestamps[at] = timestampMs;
    if (typeof value === 'bigint') column.bits[at] = value;
    else column.values[at] = value;
  }

  /** Returns all series, with each sample's time and bits. */
  all(): { readonly labels: Labels; readonly samples: (readonly [timestampMs: number, bits: bigint])[] }[] {
    return [...this.columns.values()].map(({ labels, timestamps, bits, length }) => ({
      labels,
      samples: Array.from({ length }, (_, i) => [timestamps[i]!, bits[i]!] as const),
    }));
  }

  columnsOfAll(): SampleColumns[] {
    return this.columnsOf([], { fromMs: -Infinity, toMs: Infinity });
  }

  async select(matchers: readonly Matcher[], range: TimeRange): Promise<SelectedSamples> {
    return { series: this.columnsOf(matchers, range), warnings: [] };
  }

  private columnsOf(matchers: readonly Matcher[], { fromMs, toMs }: TimeRange): SampleColumns[] {
    const isMatch = seriesTest(matchers);
    return [...this.columns.values()]
      .filter(({ labels }) => isMatch(labels))
      .map((column) => part(column, fromMs, toMs));
  }
}

function buffers(capacity: number): Pick<Column, 'timestamps' | 'values' | 'bits'> {
  const values = new Float64Array(capacity);
  return { timestamps: new Float64Array(capacity), values, bits: new BigUint64Array(values.buffer) };
}

/** Makes room for a sample at an index. */
function insertAt(column: Column, at: number): void {
  if (column.length === column.timestamps.length) {
    const { timestamps, bits } = column;
    Object.assign(column, buffers(column.length * 2));
    column.timestamps.set(timestamps);
    column.bits.set(bits);
  }
  column.timestamps.copyWithin(at + 1, at, column.length);
  column.bits.copyWithin(at + 1, at, column.length);
  column.length++;
}

function part({ labels, timestamps, values, length }: Column, fromMs: number, toMs: number): SampleColumns {
  const from = firstFrom(timestamps, fromMs, length);
  const to = firstFrom(timestamps, toMs, length);
  return { labels, timestamps: timestamps.slice(from, to), values: values.slice(from, to) };
}
