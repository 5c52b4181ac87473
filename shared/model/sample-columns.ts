import type { Labels } from './labels';

/** Points of one series: samples, or points from rollups, each of which stands for several samples ({@link RollupUse}). */
export interface SampleColumns {
  readonly labels: Labels;
  /** Unix time in ms, strictly ascending. */
  readonly timestamps: Float64Array;
  /**
   * One value for each timestamp. A stale marker is a NaN with certain bits ({@link staleMarkers}).
   * JavaScript may change the bits of a NaN that is read as a number, so values are copied as bytes.
   */
  readonly values: Float64Array;
  /**
   * Number of samples that each point stands for. Set only if the columns hold points instead of samples.
   * {@link RollupUse} then defines the meaning of `values`.
   */
  readonly counts?: Float64Array;
  /**
   * For the use `increase`, the counter's resets within each point: the sum of the values just before each reset.
   * Absent if no point has a reset.
   */
  readonly resets?: Float64Array;
}

/**
 * How a function uses the samples of a range. If the store has rollups, it may return _points_ instead of
 * samples. A point has the time of a sample. It stands for this sample and for all samples since the previous
 * point. A range of whole grains, `(start, end]` with `start` and `end` at the edges of grains, never splits
 * the samples of a point.
 *
 * - `first`, `last`: each point is a sample. The first or last sample of every range is among the points.
 * - `count`, `sum`, `min`, `max`: a point's value is this aggregate of its samples.
 * - `difference`, `increase`: a point's value is the value of the sample at the point's time. The first and the last
 *   sample of every range are among the points.
 */
export type RollupUse = 'count' | 'sum' | 'min' | 'max' | 'first' | 'last' | 'difference' | 'increase';

/** Tells the store which grains may replace samples, and how. */
export interface RequestedGrains {
  readonly grainMs: number;
  readonly use: RollupUse;
  /**
   * Which samples belong to a range of whole grains:
   *
   * - `exact`: the samples in `(start, end]`, as in PromQL's ranges.
   * - `widened`: the samples in `[start, end)`. The caller allowed this with `max_source_resolution`. Rollups always
   *   have the points for these ranges.
   * - `steps`: the samples in `[start, end)`, for a graph in steps. Stale markers and other NaNs count as samples, and
   *   a sum is only as precise as the rollup. Each point has the time at which its grain starts.
   */
  readonly edges: 'exact' | 'widened' | 'steps';
}

/**
 * Finds the stale markers, with which a scrape marks the end of a series.
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

/** Removes stale markers. Points have none. */
export function withoutStale(samples: SampleColumns): SampleColumns {
  const stale = staleMarkers(samples.values);
  if (stale === undefined) return samples;
  return {
    labels: samples.labels,
    timestamps: samples.timestamps.filter((_, i) => stale[i] === 0),
    values: samples.values.filter((_, i) => stale[i] === 0),
  };
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

/** Returns the start of the grain that contains a time, in ms. */
export function grainStartMs(ms: number, grainMs: number): number {
  return Math.floor(ms / grainMs) * grainMs;
}

/** Returns the end of the grain that ends at or after a time, in ms. */
export function grainEndMs(ms: number, grainMs: number): number {
  return Math.ceil(ms / grainMs) * grainMs;
}
