/**
 * Range functions over points, which stand for samples: see {@link RollupUse}. A function gives the same result over
 * points as over the samples. Only the last digits of a sum may differ, because its terms are added in another order.
 */
import { CompensatedSum } from '../model/compensated-sum';
import type { RollupUse } from '../model/sample-columns';
import { type ChangeFunction, extrapolation, type LiveSamples, type RangeValue } from './range-functions';

/** Range functions that can be computed from rollups, and how each of them uses the samples of a range. */
export const ROLLUP_USES: Readonly<Record<string, RollupUse>> = {
  avg_over_time: 'sum',
  sum_over_time: 'sum',
  min_over_time: 'min',
  max_over_time: 'max',
  count_over_time: 'count',
  present_over_time: 'count',
  absent_over_time: 'count',
  first_over_time: 'first',
  last_over_time: 'last',
  rate: 'increase',
  increase: 'increase',
  delta: 'difference',
};

/** The use of a plain selector, which looks for the newest sample. */
export const SELECTOR_USE: RollupUse = 'last';

/**
 * The parts of a sum nearly cancel each other out, so too few digits of the sum are reliable, or the sum exceeds
 * float64. The query must be evaluated over samples instead.
 */
export class UnprovenSumError extends Error {
  override readonly name = 'UnprovenSumError';
}

/**
 * Prepares the computation of a range function for a series of points.
 *
 * @param isExact whether the result must be the same as over samples
 * @returns undefined if the function that is used for samples also gives the right result for points
 */
export function overPoints(
  name: string,
  points: LiveSamples,
  counts: Float64Array,
  isExact: boolean,
): RangeValue | undefined {
  switch (name) {
    case 'sum_over_time':
      return (from, to) => sumOf(points.values, from, to, isExact);
    case 'avg_over_time':
      return (from, to) => sumOf(points.values, from, to, isExact) / countOf(counts, from, to);
    case 'count_over_time':
      return (from, to) => countOf(counts, from, to);
    case 'rate':
    case 'increase':
    case 'delta':
      return changeOverPoints(points, counts, name);
    default:
      return undefined;
  }
}

function countOf(counts: Float64Array, from: number, to: number): number {
  let count = 0;
  for (let i = from; i < to; i++) count += counts[i]!;
  return count;
}

/**
 * A sum must be at least this fraction of the sum of its parts' absolute values. Each part is accurate to 12
 * digits (`SUM_ERROR` in cold/rollup-grains.ts), so the sum is accurate to 6.
 */
const LEAST_SHARE = 1e-6;

/** @throws {UnprovenSumError} */
function sumOf(values: Float64Array, from: number, to: number, isExact: boolean): number {
  const sum = new CompensatedSum();
  let [parts, areIntegers] = [0, true];
  for (let i = from; i < to; i++) {
    const value = values[i]!;
    sum.add(value);
    parts += Math.abs(value);
    if (!Number.isInteger(value)) areIntegers = false;
  }
  const isRight = areIntegers && parts <= Number.MAX_SAFE_INTEGER;
  // Over samples, an average is finite even if the sum of the values exceeds float64.
  const isUnproven = parts === Infinity || Math.abs(sum.total) < LEAST_SHARE * parts;
  if (isExact && !isRight && isUnproven) throw new UnprovenSumError();
  return sum.total;
}

function changeOverPoints(points: LiveSamples, counts: Float64Array, name: ChangeFunction): RangeValue {
  const { values, resets } = points;
  const extrapolate = extrapolation(points, name);
  return (from, to, stepRange) => {
    let change = values[to - 1]! - values[from]!;
    if (name !== 'delta')
      for (let i = from + 1; i < to; i++)
        if (counts[i]! > 1) change += resets?.[i] ?? 0;
        else if (values[i]! < values[i - 1]!) change += values[i - 1]!;
    return extrapolate(change, from, to, countOf(counts, from, to), stepRange);
  };
}
