import { DAY_MS, HOUR_MS } from './duration';
import { SharedTimes } from './shared-times';

/**
 * Aggregates the samples of a series over aligned time steps.
 *
 * A result from stored rollups must be the same, bit for bit, as a result from the samples. Floating-point
 * sums depend on the order of additions, so this order is fixed. A day is aggregated from its hours, and an
 * hour from its samples. A step of whole days is aggregated from days, a step of whole hours from hours, and
 * any other step from its samples. A sum is the sum of the grains' sums, in order of time; the minimum is the
 * minimum of the grains' minima; the first value is the first of the grains' first values; and so on.
 *
 * Every sample counts, including stale markers, which are NaNs. A NaN makes its step's sum, average, minimum and
 * maximum NaN. Values are added according to IEEE 754: a sum that exceeds float64, and its average, are infinite. The
 * minimum of 0 and -0 is -0; a sum is never -0.
 */

/** The samples of a series in time order, with at most one for each timestamp. */
export interface Samples {
  readonly timestamps: ArrayLike<number>;
  readonly values: ArrayLike<number>;
  /**
   * For samples that are themselves aggregates, such as grains: the number of original samples behind each of
   * them. `values` then has the aggregates, or for `avg` the sums. Undefined for original samples, and where
   * no count is needed.
   */
  readonly counts?: ArrayLike<number> | undefined;
}

export const AGGREGATES = ['avg', 'min', 'max', 'sum', 'count', 'first', 'last'] as const;
/** A function that computes one value from the samples of a step. */
export type Aggregate = (typeof AGGREGATES)[number];

/**
 * Returns the length of the grains from which a step is aggregated, in ms; undefined if it is aggregated from samples.
 */
export function storedGrainMs(stepMs: number): number | undefined {
  return [DAY_MS, HOUR_MS].find((grainMs) => stepMs % grainMs === 0);
}

/**
 * Aggregates the samples of each aligned step. Leaves out steps without samples.
 *
 * @param samples the samples of the series, or instead its grains of length {@link storedGrainMs}, with their starts as
 *   timestamps
 * @param shared cache for the series of one response
 * @returns a sample at the start of each step
 */
export function downsample(
  samples: Samples,
  stepMs: number,
  aggregate: Aggregate = 'avg',
  shared = new SharedTimes(),
): Pick<Samples, 'timestamps' | 'values'> {
  const grainMs = storedGrainMs(stepMs);
  const grains = grainMs === undefined ? samples : grainsIn(samples, grainMs, aggregate, shared);
  return shownOf(
    stepMs === grainMs ? grains : aggregateSamples(grains, stepMs, aggregate, shared),
    aggregate,
  );
}

/** Aggregates samples into hours or days, as rollups store them. The timestamp of a grain is its start. */
export function grainsIn(
  samples: Samples,
  grainMs: number,
  aggregate: Aggregate,
  shared: SharedTimes,
): Samples {
  const hours = aggregateSamples(samples, HOUR_MS, aggregate, shared);
  return grainMs === HOUR_MS ? hours : aggregateSamples(hours, grainMs, aggregate, shared);
}

/** Aggregates the samples of each aligned step. */
function aggregateSamples(
  samples: Samples,
  stepMs: number,
  aggregate: Aggregate,
  shared: SharedTimes,
): Samples {
  const { timestamps, values } = samples;
  if (timestamps.length === 0) return NO_SAMPLES;
  const cuts = shared.cut(timestamps, stepMs);
  const { starts, ends } = cuts;
  const counts = samples.counts === undefined ? cuts.counts : shared.fold(cuts, samples.counts);
  if (aggregate === 'count') return { timestamps: starts, values: counts, counts };
  const of = OF_VALUES[aggregate];
  const isSum = aggregate === 'avg' || aggregate === 'sum';
  const own = new Float64Array(starts.length);
  for (let step = 0, first = 0; step < own.length; first = ends[step++]!) {
    const end = ends[step]!;
    // Most steps have a single stored grain. Adding 0 turns a sum of -0 into 0, as `of` does.
    own[step] = end - first > 1 ? of(values, first, end) : isSum ? 0 + values[first]! : values[first]!;
  }
  return { timestamps: starts, values: own, counts: aggregate === 'avg' ? counts : undefined };
}

const NO_SAMPLES: Samples = { timestamps: [], values: [] };

/**
 * For each aggregate, a function that computes it from the values with indexes in `[first, end)`. There must be at
 * least one value.
 */
const OF_VALUES: Readonly<
  Record<Exclude<Aggregate, 'count'>, (values: ArrayLike<number>, first: number, end: number) => number>
> = {
  avg: sumOf,
  sum: sumOf,
  min: (values, first, end) => {
    let min = values[first]!;
    for (let i = first + 1; i < end; i++) min = Math.min(min, values[i]!);
    return min;
  },
  max: (values, first, end) => {
    let max = values[first]!;
    for (let i = first + 1; i < end; i++) max = Math.max(max, values[i]!);
    return max;
  },
  first: (values, first) => values[first]!,
  last: (values, _, end) => values[end - 1]!,
};

function sumOf(values: ArrayLike<number>, first: number, end: number): number {
  let sum = 0;
  for (let i = first; i < end; i++) sum += values[i]!;
  return sum;
}

/** Returns aggregated samples as a response shows them, with averages and finite sums. */
function shownOf(samples: Samples, aggregate: Aggregate): Pick<Samples, 'timestamps' | 'values'> {
  const { timestamps, values, counts } = samples;
  if (aggregate !== 'avg' && aggregate !== 'sum') return { timestamps, values };
  const shown = new Float64Array(values.length);
  for (let i = 0; i < shown.length; i++) {
    const sum = values[i]!;
    // JSON has no infinity. Return the largest number instead of an infinite sum.
    shown[i] =
      aggregate === 'avg' ? sum / counts![i]! : Math.max(-Number.MAX_VALUE, Math.min(sum, Number.MAX_VALUE));
  }
  return { timestamps, values: shown };
}
