import type { Labels } from '../model/labels';
import { labelsKey, labelValue } from '../model/labels';
import { type Budget, mergeSameLabels, type Vectors, withLabels, withoutName } from './vectors';

/** Cumulative buckets of a histogram at one step, sorted by upper bound. */
interface Buckets {
  bounds: number[];
  counts: number[];
}

export interface BucketRemarks {
  /** Called when a series is skipped because its label `le` is missing or not a number. */
  badBucket: (le: string) => void;
  /** Called when bucket counts were raised to make them monotonic. */
  forcedMonotonic: () => void;
}

const NO_LE = new Map([['le', '']]);

/** Number of histograms, each counted once per step, that are computed between two checks of the time limit. */
const HISTOGRAMS_PER_CHECK = 256;

/**
 * Groups the series of classic histograms by their labels except `le`, and computes one value for each histogram and
 * step.
 *
 * @param valueAt receives the buckets, which it may modify
 */
export function overHistograms(
  input: Vectors,
  budget: Budget,
  remarks: BucketRemarks,
  valueAt: (buckets: Buckets, step: number) => number,
): Vectors {
  const { steps } = input;
  const histograms = new Map<string, { labels: Labels; rows: { row: number; bound: number }[] }>();
  for (const [row, labels] of input.labels.entries()) {
    const le = labelValue(labels, 'le') ?? '';
    const bound = boundOf(le);
    if (bound === undefined) {
      remarks.badBucket(le);
      continue;
    }
    const rest = withLabels(labels, NO_LE);
    const key = labelsKey(rest);
    const histogram = histograms.get(key) ?? { labels: rest, rows: [] };
    histogram.rows.push({ row, bound });
    histograms.set(key, histogram);
  }
  const found = [...histograms.values()];
  const output = budget.vectors(
    found.map(({ labels }) => withoutName(labels)),
    steps,
  );
  for (const [i, { rows }] of found.entries()) {
    rows.sort((a, b) => a.bound - b.bound);
    for (let step = 0; step < steps; step++) {
      if ((i * steps + step) % HISTOGRAMS_PER_CHECK === 0) budget.checkTime();
      const buckets: Buckets = { bounds: [], counts: [] };
      for (const { row, bound } of rows) {
        if (input.present[row * steps + step] === 0) continue;
        buckets.bounds.push(bound);
        buckets.counts.push(input.values[row * steps + step]!);
      }
      if (buckets.bounds.length === 0) continue;
      output.values[i * steps + step] = valueAt(buckets, step);
      output.present[i * steps + step] = 1;
    }
  }
  return mergeSameLabels(output);
}

function boundOf(le: string): number | undefined {
  const infinite = /^([+-]?)inf(?:inity)?$/i.exec(le);
  if (infinite !== null) return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(le) ? Number(le) : undefined;
}

/** Adds up the counts of buckets with equal bounds. */
function coalesce({ bounds, counts }: Buckets): Buckets {
  const result: Buckets = { bounds: [bounds[0]!], counts: [counts[0]!] };
  for (let i = 1; i < bounds.length; i++) {
    if (bounds[i] === result.bounds.at(-1)) result.counts[result.counts.length - 1]! += counts[i]!;
    else {
      result.bounds.push(bounds[i]!);
      result.counts.push(counts[i]!);
    }
  }
  return result;
}

/** Counts whose relative difference is at most this are considered equal; the difference is attributed to rounding. */
const TOLERANCE = 1e-12;
const SMALLEST_NORMAL = 2.2250738585072014e-308;

function isAlmostEqual(a: number, b: number): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  const sum = Math.abs(a) + Math.abs(b);
  const difference = Math.abs(a - b);
  if (a === 0 || b === 0 || sum < SMALLEST_NORMAL) return difference < TOLERANCE * SMALLEST_NORMAL;
  return difference / Math.min(sum, Number.MAX_VALUE) < TOLERANCE;
}

/**
 * Makes counts monotonic: a count that is lower than the previous one, or almost equal to it, becomes equal to it.
 * Returns whether any count was lower by more than a rounding error.
 */
function makeMonotonic(counts: number[]): boolean {
  let before = counts[0]!;
  let isForced = false;
  for (let i = 1; i < counts.length; i++) {
    const count = counts[i]!;
    if (count === before) continue;
    const isSame = isAlmostEqual(before, count);
    if (isSame || count < before) {
      counts[i] = before;
      isForced ||= !isSame;
    } else before = count;
  }
  return isForced;
}

/**
 * Returns the q-quantile of a histogram, interpolated linearly within a bucket. If the quantile is in the
 * highest bucket, returns that bucket's lower bound.
 *
 * @see https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile
 */
export function bucketQuantile(q: number, found: Buckets, remarks: BucketRemarks): number {
  if (Number.isNaN(q)) return Number.NaN;
  if (q < 0) return Number.NEGATIVE_INFINITY;
  if (q > 1) return Number.POSITIVE_INFINITY;
  if (found.bounds.at(-1) !== Number.POSITIVE_INFINITY) return Number.NaN;
  const { bounds, counts } = coalesce(found);
  if (makeMonotonic(counts)) remarks.forcedMonotonic();
  const last = bounds.length - 1;
  const observations = counts[last]!;
  if (last < 1 || observations === 0) return Number.NaN;
  let rank = q * observations;
  let [bucket, end] = [0, last];
  // Search exactly as Prometheus does: if counts are NaN, the result depends on the search algorithm.
  while (bucket < end) {
    const middle = (bucket + end) >> 1;
    if (counts[middle]! >= rank) end = middle;
    else bucket = middle + 1;
  }
  if (bucket === last) return bounds[last - 1]!;
  if (bucket === 0 && bounds[0]! <= 0) return bounds[0]!;
  const start = bucket === 0 ? 0 : bounds[bucket - 1]!;
  const below = bucket === 0 ? 0 : counts[bucket - 1]!;
  rank -= below;
  return start + (bounds[bucket]! - start) * (rank / (counts[bucket]! - below));
}

/**
 * Returns the fraction of observations between two values.
 *
 * @see https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_fraction
 */
export function bucketFraction(lower: number, upper: number, found: Buckets): number {
  if (found.bounds.at(-1) !== Number.POSITIVE_INFINITY) return Number.NaN;
  const { bounds, counts } = coalesce(found);
  const count = counts.at(-1)!;
  if (count === 0 || Number.isNaN(lower) || Number.isNaN(upper)) return Number.NaN;
  if (lower >= upper) return 0;
  const rankOf = (value: number) => {
    let rank = 0;
    for (let i = 0; i < bounds.length; i++) {
      const from = i > 0 ? bounds[i - 1]! : bounds[0]! <= 0 ? Number.NEGATIVE_INFINITY : 0;
      if (from >= value) return rank;
      if (bounds[i]! > value) {
        if (from === Number.NEGATIVE_INFINITY) return counts[i]!;
        return rank + ((counts[i]! - rank) * (value - from)) / (bounds[i]! - from);
      }
      rank = counts[i]!;
    }
    return count;
  };
  return (Math.min(rankOf(upper), count) - Math.min(rankOf(lower), count)) / count;
}
