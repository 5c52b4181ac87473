import type { Aggregate } from '../model/aggregates';
import type { Labels } from '../model/labels';
import type { Matcher } from '../model/matcher';
import type { TimeRange } from '../model/selection';

/** Samples of a series. */
export interface SampleColumns {
  readonly labels: Labels;
  /** ms since epoch, strictly ascending. */
  readonly timestamps: Float64Array;
  /**
   * One value for each timestamp. A stale marker is identified by its bits ({@link isStale}), which must not
   * pass through a number.
   */
  readonly values: Float64Array;
  /**
   * The number of samples in each rollup grain (a minute, an hour or a day). Set only if rollup grains are read
   * instead of samples and their aggregate is `avg`; `values` are then the sums.
   */
  readonly counts?: Float64Array;
}

/** Aligned grains of time that replace samples. */
export interface AskedGrains {
  readonly grainMs: number;
  readonly aggregate: Aggregate;
}

/** Finds the series of an expression's selectors. */
export interface SampleStore {
  /**
   * Returns the series that satisfy all matchers, with their samples in the range. Series without samples may
   * be omitted.
   *
   * @param grains asks for one point per grain, at the grain's last ms, instead of samples. The range then consists of
   *   whole grains. Only a query that allows grains ({@link QueryOptions.rollups}) asks for them.
   */
  select(matchers: readonly Matcher[], range: TimeRange, grains?: AskedGrains): Promise<SelectedSamples>;
}

export interface SelectedSamples {
  readonly series: readonly SampleColumns[];
  /** What may be missing, as warnings for the answer. */
  readonly warnings: readonly string[];
}

/**
 * Finds the stale markers, by which a scrape marks the end of a series.
 *
 * @returns an array with 1 at each stale marker; undefined if there is none
 * @see https://prometheus.io/docs/prometheus/latest/querying/basics/#staleness
 */
export function staleMarkers(values: Float64Array): Uint8Array | undefined {
  let words: Uint32Array | undefined;
  let stale: Uint8Array | undefined;
  for (let i = 0; i < values.length; i++) {
    if (!Number.isNaN(values[i])) continue;
    words ??= new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
    // The words of 0x7ff0000000000002, little-endian.
    if (words[2 * i] !== 2 || words[2 * i + 1] !== 0x7ff00000) continue;
    stale ??= new Uint8Array(values.length);
    stale[i] = 1;
  }
  return stale;
}

/**
 * Returns the index of the first timestamp at or after a time.
 *
 * @param length number of ascending `timestamps` to search
 */
export function firstFrom(timestamps: Float64Array, ms: number, length = timestamps.length): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (timestamps[middle]! < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}
