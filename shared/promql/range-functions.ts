import { CompensatedSum } from '../model/compensated-sum';
import { CompensatedMean, quantileOf } from './sums';

/** Samples of a series without stale markers. */
export interface LiveSamples {
  readonly timestamps: Float64Array;
  readonly values: Float64Array;
  /** See {@link SampleColumns.counts}. */
  readonly counts?: Float64Array;
  /** See {@link SampleColumns.resets}. */
  readonly resets?: Float64Array;
}

/** The range of a step in ms. It excludes `startMs` and includes `endMs`. */
export interface StepRange {
  readonly evalMs: number;
  readonly startMs: number;
  readonly endMs: number;
  /** The function's scalar argument at this step. */
  readonly param: number;
}

/** Computes the value of a range. The range's samples have the indexes from `from` up to, but not including, `to`. */
export type RangeValue = (from: number, to: number, stepRange: StepRange) => number;

export interface RangeFunction {
  /** Minimum number of samples in a range for the range to have a value. */
  readonly least: 1 | 2;
  /** Prepares the computation for a series. */
  readonly of: (samples: LiveSamples) => RangeValue;
}

function fold(of: RangeFunction['of'], least: 1 | 2 = 1): RangeFunction {
  return { least, of };
}

/** Range-vector functions by name, except `absent_over_time`. */
export const RANGE_FUNCTIONS: Readonly<Record<string, RangeFunction>> = {
  rate: fold((samples) => changeOver(samples, 'rate'), 2),
  increase: fold((samples) => changeOver(samples, 'increase'), 2),
  delta: fold((samples) => changeOver(samples, 'delta'), 2),
  irate: fold(
    ({ timestamps, values }) =>
      (_, to) => {
        const [before, last] = [values[to - 2]!, values[to - 1]!];
        const seconds = (timestamps[to - 1]! - timestamps[to - 2]!) / 1000;
        return (last < before ? last : last - before) / seconds;
      },
    2,
  ),
  idelta: fold(
    ({ values }) =>
      (_, to) =>
        values[to - 1]! - values[to - 2]!,
    2,
  ),
  deriv: fold((samples) => (from, to) => regression(samples, from, to, samples.timestamps[from]!).slope, 2),
  predict_linear: fold(
    (samples) =>
      (from, to, { evalMs, param }) => {
        const { slope, intercept } = regression(samples, from, to, evalMs);
        return slope * param + intercept;
      },
    2,
  ),
  sum_over_time: fold(({ values }) => (from, to) => {
    const sum = new CompensatedSum();
    for (let i = from; i < to; i++) sum.add(values[i]!);
    return Math.abs(sum.sum) === Number.POSITIVE_INFINITY ? sum.sum : sum.total;
  }),
  avg_over_time: fold(({ values }) => (from, to) => {
    const mean = new CompensatedMean();
    for (let i = from; i < to; i++) mean.add(values[i]!);
    return mean.mean;
  }),
  count_over_time: fold(() => (from, to) => to - from),
  present_over_time: fold(() => () => 1),
  first_over_time: fold(
    ({ values }) =>
      (from) =>
        values[from]!,
  ),
  last_over_time: fold(
    ({ values }) =>
      (_, to) =>
        values[to - 1]!,
  ),
  min_over_time: fold(({ values }) => (from, to) => {
    let least = values[from]!;
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      if (value < least || Number.isNaN(least)) least = value;
    }
    return least;
  }),
  max_over_time: fold(({ values }) => (from, to) => {
    let most = values[from]!;
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      if (value > most || Number.isNaN(most)) most = value;
    }
    return most;
  }),
  stdvar_over_time: fold(
    ({ values }) =>
      (from, to) =>
        variance(values, from, to),
  ),
  stddev_over_time: fold(
    ({ values }) =>
      (from, to) =>
        Math.sqrt(variance(values, from, to)),
  ),
  quantile_over_time: fold(
    ({ values }) =>
      (from, to, { param }) =>
        quantileOf(param, values.slice(from, to)),
  ),
  changes: fold(({ values }) => (from, to) => {
    let changes = 0;
    for (let i = from + 1; i < to; i++) {
      const [before, value] = [values[i - 1]!, values[i]!];
      if (value !== before && !(Number.isNaN(value) && Number.isNaN(before))) changes++;
    }
    return changes;
  }),
  resets: fold(({ values }) => (from, to) => {
    let resets = 0;
    for (let i = from + 1; i < to; i++) if (values[i]! < values[i - 1]!) resets++;
    return resets;
  }),
};

export type ChangeFunction = 'rate' | 'increase' | 'delta';

function changeOver(samples: LiveSamples, name: ChangeFunction): RangeValue {
  const { values } = samples;
  const extrapolate = extrapolation(samples, name);
  const resets = name === 'delta' ? NO_RESETS : resetsOf(values);
  let nextReset = 0;
  let lastFrom = 0;
  return (from, to, stepRange) => {
    let change = values[to - 1]! - values[from]!;
    if (from < lastFrom) nextReset = 0;
    lastFrom = from;
    while (nextReset < resets.length && resets[nextReset]! <= from) nextReset++;
    for (let i = nextReset; i < resets.length && resets[i]! < to; i++) change += values[resets[i]! - 1]!;
    return extrapolate(change, from, to, to - from, stepRange);
  };
}

/**
 * Returns a function that takes the change between the first and last samples of a range, and extrapolates it to the
 * whole range. If an end of the range is far from the nearest sample, the extrapolation stops short of that end. A
 * counter is not extrapolated below zero. The parameters of the returned function are:
 *
 * - `change`: the difference between the last and the first value, plus the resets of a counter
 * - `from`, `to`: the indexes of the first sample, and just past the last one
 * - `count`: number of samples in the range
 */
export function extrapolation({ timestamps, values }: LiveSamples, name: ChangeFunction) {
  return (change: number, from: number, to: number, count: number, { startMs, endMs }: StepRange): number => {
    const first = values[from]!;
    const [firstMs, lastMs] = [timestamps[from]!, timestamps[to - 1]!];
    const interval = (lastMs - firstMs) / 1000;
    const average = interval / (count - 1);
    const threshold = average * 1.1;
    let toStart = (firstMs - startMs) / 1000;
    let toEnd = (endMs - lastMs) / 1000;
    if (toStart >= threshold) toStart = average / 2;
    if (name !== 'delta') {
      let toZero = toStart;
      if (change > 0 && first >= 0) toZero = interval * (first / change);
      if (toZero < toStart) toStart = toZero;
    }
    if (toEnd >= threshold) toEnd = average / 2;
    let factor = (interval + toStart + toEnd) / interval;
    if (name === 'rate') factor /= (endMs - startMs) / 1000;
    return change * factor;
  };
}

const NO_RESETS = new Uint32Array(0);

/** Returns the indexes of samples that are lower than the previous one. */
function resetsOf(values: Float64Array): Uint32Array {
  const resets: number[] = [];
  for (let i = 1; i < values.length; i++) if (values[i]! < values[i - 1]!) resets.push(i);
  return resets.length === 0 ? NO_RESETS : Uint32Array.from(resets);
}

/** Fits a line by least squares. Times are in seconds from `originMs`. */
function regression(
  { timestamps, values }: LiveSamples,
  from: number,
  to: number,
  originMs: number,
): { readonly slope: number; readonly intercept: number } {
  const [x, y, xy, xx] = [
    new CompensatedSum(),
    new CompensatedSum(),
    new CompensatedSum(),
    new CompensatedSum(),
  ];
  const first = values[from]!;
  let isConstant = true;
  for (let i = from; i < to; i++) {
    const value = values[i]!;
    if (i > from && value !== first) isConstant = false;
    const seconds = (timestamps[i]! - originMs) / 1000;
    x.add(seconds);
    y.add(value);
    xy.add(seconds * value);
    xx.add(seconds * seconds);
  }
  if (isConstant)
    return Math.abs(first) === Number.POSITIVE_INFINITY
      ? { slope: Number.NaN, intercept: Number.NaN }
      : { slope: 0, intercept: first };
  const n = to - from;
  const covariance = xy.total - (x.total * y.total) / n;
  const slope = covariance / (xx.total - (x.total * x.total) / n);
  return { slope, intercept: y.total / n - (slope * x.total) / n };
}

/** Variance of a population, by Welford's method. */
function variance(values: Float64Array, from: number, to: number): number {
  const [mean, squares] = [new CompensatedSum(), new CompensatedSum()];
  for (let i = from; i < to; i++) {
    const value = values[i]!;
    const delta = value - mean.total;
    mean.add(delta / (i - from + 1));
    squares.add(delta * (value - mean.total));
  }
  return squares.total / (to - from);
}
