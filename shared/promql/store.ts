import type { Labels } from '../model/labels';
import type { Matcher } from '../model/matcher';
import type { TimeRange } from '../model/selection';

/** The samples of a series. */
export interface SampleColumns {
  readonly labels: Labels;
  /** ms since epoch, ascending, each once. */
  readonly timestamps: Float64Array;
  /** As long as `timestamps`. A stale marker is known by its bits, {@link isStale}, which must not pass through a number. */
  readonly values: Float64Array;
}

/** Where an expression's selectors find their series. */
export interface SampleStore {
  /** The series that satisfy all matchers, with their samples of the range; those without any may be left out. */
  select(matchers: readonly Matcher[], range: TimeRange): Promise<SelectedSamples>;
}

export interface SelectedSamples {
  readonly series: readonly SampleColumns[];
  /** What may be missing, for the answer's warnings. */
  readonly warnings: readonly string[];
}

/**
 * Finds the stale markers, with which a scrape says that a series has ended.
 *
 * @returns 1 for each that is one; undefined when none is
 * @see https://prometheus.io/docs/prometheus/latest/querying/basics/#staleness
 */
export function staleMarkers(values: Float64Array): Uint8Array | undefined {
  let words: Uint32Array | undefined;
  let stale: Uint8Array | undefined;
  for (let i = 0; i < values.length; i++) {
    if (!Number.isNaN(values[i])) continue;
    words ??= new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
    // Little-endian; the bits of 0x7ff0000000000002.
    if (words[2 * i] !== 2 || words[2 * i + 1] !== 0x7ff00000) continue;
    stale ??= new Uint8Array(values.length);
    stale[i] = 1;
  }
  return stale;
}

/**
 * Index of the first time at or after another.
 *
 * @param length how many of the ascending `timestamps` count
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
