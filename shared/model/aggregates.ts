import { concat } from './columns';
import { DAY_MS } from './duration';
import { type Cuts, SharedTimes } from './shared-times';

/**
 * Aggregates a series by aligned steps of time.
 *
 * There is one definition, whatever a value is computed from. A step aggregates the longest of these grains
 * that divides it: days, which aggregate their hours; hours; minutes; otherwise its samples. Sums are sums of
 * sums in order of time, the minimum is the minimum of minima, the first value is the first of the first
 * values, and so on. So stored grains (rollups) give the same result, bit for bit, as the samples. Samples
 * must be ascending, with one for each timestamp.
 *
 * Every sample counts, including stale markers, which are NaNs. A NaN makes its step's sum, average, minimum
 * and maximum NaN. Infinities are added according to IEEE 754. The minimum of 0 and -0 is -0; a sum is never
 * -0.
 */

/** A series' samples, ascending in time. */
export interface Samples {
  readonly timestamps: ArrayLike<number>;
  readonly values: ArrayLike<number>;
}

export const AGGREGATES = ['avg', 'min', 'max', 'sum', 'count', 'first', 'last'] as const;
/** How the samples of a step become one value. */
export type Aggregate = (typeof AGGREGATES)[number];

export const HOUR_MS = DAY_MS / 24;
export const MINUTE_MS = HOUR_MS / 60;

/**
 * Aggregates of each minute are stored only for groups whose series have, on average, a sample at shorter
 * intervals than this.
 */
export const DENSE_INTERVAL_MS = 10_000;

/**
 * Scales values so that their sum does not overflow. As a power of two, it changes nothing else, except
 * denormals.
 */
const SCALE = 2 ** -64;

/** One aggregate of the grains of time that have samples, ascending. */
export interface Grains {
  /** The starts of the grains, ms since epoch. */
  readonly starts: ArrayLike<number>;
  /** The aggregate of each grain; for `avg`, the sum. */
  readonly values: ArrayLike<number>;
  /**
   * For `avg` and `sum`: the sums of values scaled by 2^-64. Undefined if every one is `values` times 2^-64,
   * as it is for finite sums.
   */
  readonly scaled: ArrayLike<number> | undefined;
  /** For `avg`: the number of samples in each grain. */
  readonly counts: ArrayLike<number>;
}

/**
 * Returns the length of the grains that a step is made of: a day, an hour, a minute, or undefined if it is
 * made of samples.
 */
export function storedGrainMs(stepMs: number): number | undefined {
  return [DAY_MS, HOUR_MS, MINUTE_MS].find((grainMs) => stepMs % grainMs === 0);
}

/**
 * Aggregates the samples of each aligned step, omitting steps without samples.
 *
 * @param stored further grains of length {@link storedGrainMs}; none may contain any of the samples
 * @param shared cache for the series of one answer
 * @returns samples at the starts of the steps
 */
export function downsample(
  samples: Samples,
  stepMs: number,
  aggregate: Aggregate = 'avg',
  stored?: Grains,
  shared = new SharedTimes(),
): Samples {
  const grainMs = storedGrainMs(stepMs);
  // With at most one sample a minute, aggregating into minutes would change nothing.
  const isDirect =
    grainMs === MINUTE_MS && stored === undefined && shared.isSparse(samples.timestamps, MINUTE_MS);
  if (grainMs === undefined || isDirect)
    return shownOf(grainsOf(samples, stepMs, aggregate, shared), aggregate);
  const own = grainsIn(samples, grainMs, aggregate, shared);
  const grains = stored === undefined ? own : mergeGrains(own, stored, aggregate, shared);
  return shownOf(stepMs === grainMs ? grains : foldGrains(grains, stepMs, aggregate, shared), aggregate);
}

/** Aggregates samples into minutes, hours or days, in the same way as for storing them. */
export function grainsIn(
  samples: Samples,
  grainMs: number,
  aggregate: Aggregate,
  shared: SharedTimes,
): Grains {
  if (grainMs < DAY_MS) return grainsOf(samples, grainMs, aggregate, shared);
  return foldGrains(grainsOf(samples, HOUR_MS, aggregate, shared), grainMs, aggregate, shared);
}

/** Whether {@link storedGrains} can restore the sums. It cannot if the sum of finite values is infinite. */
export function isStorable({ values, scaled }: Grains): boolean {
  if (scaled === undefined) return true;
  for (let i = 0; i < values.length; i++)
    if (!Number.isFinite(values[i]!) && !Object.is(values[i]! * SCALE, scaled[i])) return false;
  return true;
}

/** Makes grains from the stored columns of an aggregate. */
export function storedGrains(
  aggregate: Aggregate,
  starts: ArrayLike<number>,
  values: ArrayLike<number>,
  counts: ArrayLike<number>,
): Grains {
  return { starts, values, scaled: undefined, counts: aggregate === 'avg' ? counts : NOTHING };
}

const NOTHING = new Float64Array(0);

/** A list of grains that is being filled, up to the capacity it was created with. */
class GrainList {
  private readonly startsOf: Float64Array;
  private readonly valuesOf: Float64Array;
  private readonly countsOf: Float64Array;
  private scaledOf: Float64Array | undefined;
  private length = 0;

  constructor(room: number, hasCounts: boolean) {
    this.startsOf = new Float64Array(room);
    this.valuesOf = new Float64Array(room);
    this.countsOf = hasCounts ? new Float64Array(room) : NOTHING;
  }

  /** @param count number of samples; ignored if the list has no counts */
  add(start: number, value: number, count: number): void {
    const at = this.length++;
    this.startsOf[at] = start;
    this.valuesOf[at] = value;
    if (this.countsOf.length > 0) this.countsOf[at] = count;
    if (this.scaledOf !== undefined) this.scaledOf[at] = value * SCALE;
  }

  /** Sets the scaled sum of the last grain, where the sum given to {@link add} is not finite. */
  scaleLast(scaled: number): void {
    this.scaledOf ??= this.valuesOf.map((value) => value * SCALE);
    this.scaledOf[this.length - 1] = scaled;
  }

  finish(): Grains {
    const { length } = this;
    const cut = (column: Float64Array) => (column.length > length ? column.slice(0, length) : column);
    return {
      starts: cut(this.startsOf),
      values: cut(this.valuesOf),
      scaled: this.scaledOf && cut(this.scaledOf),
      counts: cut(this.countsOf),
    };
  }
}

/** Returns the sum of a grain's scaled values. */
function scaledOf({ values, scaled }: Grains, index: number): number {
  return scaled === undefined ? values[index]! * SCALE : scaled[index]!;
}

/** Aggregates the samples of each aligned grain. */
function grainsOf(
  { timestamps, values }: Samples,
  grainMs: number,
  aggregate: Aggregate,
  shared: SharedTimes,
): Grains {
  if (timestamps.length === 0) return NO_GRAINS;
  const cuts = shared.cut(timestamps, grainMs);
  const scaledSum = (first: number, end: number) => {
    let scaled = 0;
    for (let i = first; i < end; i++) scaled += values[i]! * SCALE;
    return scaled;
  };
  return {
    ...valuesIn(cuts, values, aggregate, OF_SAMPLES[aggregate], scaledSum),
    counts: aggregate === 'avg' ? cuts.counts : NOTHING,
  };
}

/** Aggregates grains into longer aligned grains. */
function foldGrains(grains: Grains, grainMs: number, aggregate: Aggregate, shared: SharedTimes): Grains {
  const { starts, values, counts } = grains;
  if (starts.length === 0) return NO_GRAINS;
  const cuts = shared.cut(starts, grainMs);
  const scaledSum = (first: number, end: number) => {
    let scaled = 0;
    for (let i = first; i < end; i++) scaled += scaledOf(grains, i);
    return scaled;
  };
  return {
    ...valuesIn(cuts, values, aggregate, aggregate === 'count' ? sumOf : OF_SAMPLES[aggregate], scaledSum),
    counts: aggregate === 'avg' ? shared.fold(cuts, counts) : NOTHING,
  };
}

/**
 * Aggregates the values within each cut.
 *
 * @param of returns the aggregate of values with indexes in `[first, end)`
 * @param scaledSum returns the sum of scaled values in such a range
 */
function valuesIn(
  { starts, ends }: Cuts,
  values: ArrayLike<number>,
  aggregate: Aggregate,
  of: (values: ArrayLike<number>, first: number, end: number) => number,
  scaledSum: (first: number, end: number) => number,
): Omit<Grains, 'counts'> {
  const isSum = aggregate === 'avg' || aggregate === 'sum';
  const own = new Float64Array(starts.length);
  let areFinite = true;
  for (let grain = 0, first = 0; grain < own.length; first = ends[grain++]!) {
    const value = of(values, first, ends[grain]!);
    own[grain] = value;
    if (isSum && !Number.isFinite(value)) areFinite = false;
  }
  if (areFinite) return { starts, values: own, scaled: undefined };
  const scaled = own.map((value, grain) =>
    Number.isFinite(value) ? value * SCALE : scaledSum(grain === 0 ? 0 : ends[grain - 1]!, ends[grain]!),
  );
  return { starts, values: own, scaled };
}

/** Merges grains of the same aggregate in order of time. No grain may be in both. */
export function mergeGrains(a: Grains, b: Grains, aggregate: Aggregate, shared: SharedTimes): Grains {
  if (a.starts.length === 0) return b;
  if (b.starts.length === 0) return a;
  if (a.starts[a.starts.length - 1]! < b.starts[0]!) return joinGrains([a, b], shared);
  if (b.starts[b.starts.length - 1]! < a.starts[0]!) return joinGrains([b, a], shared);
  const merged = new GrainList(a.starts.length + b.starts.length, aggregate === 'avg');
  for (let i = 0, j = 0; i < a.starts.length || j < b.starts.length; ) {
    const takesA = j === b.starts.length || (i < a.starts.length && a.starts[i]! < b.starts[j]!);
    const from = takesA ? a : b;
    const at = takesA ? i++ : j++;
    merged.add(from.starts[at]!, from.values[at]!, from.counts[at]!);
    if (from.scaled !== undefined) merged.scaleLast(from.scaled[at]!);
  }
  return merged.finish();
}

/** Joins grains of the same aggregate. Each part must begin after the previous one ends. */
export function joinGrains(parts: readonly Grains[], shared: SharedTimes): Grains {
  if (parts.length === 1) return parts[0]!;
  return {
    starts: shared.join(parts.map(({ starts }) => starts)),
    values: concat(parts.map(({ values }) => values)),
    scaled: parts.every(({ scaled }) => scaled === undefined)
      ? undefined
      : concat(parts.map((grains) => Float64Array.from(grains.values, (_, i) => scaledOf(grains, i)))),
    counts: shared.join(parts.map(({ counts }) => counts)),
  };
}

const NO_GRAINS: Grains = { starts: NOTHING, values: NOTHING, scaled: undefined, counts: NOTHING };

/**
 * One function for each aggregate. It aggregates the values with indexes in `[first, end)`, which must not be
 * empty.
 */
const OF_SAMPLES: Readonly<
  Record<Aggregate, (values: ArrayLike<number>, first: number, end: number) => number>
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
  count: (_, first, end) => end - first,
  first: (values, first) => values[first]!,
  last: (values, _, end) => values[end - 1]!,
};

function sumOf(values: ArrayLike<number>, first: number, end: number): number {
  let sum = 0;
  for (let i = first; i < end; i++) sum += values[i]!;
  return sum;
}

/** Converts grains to samples at the grains' starts. */
function shownOf(grains: Grains, aggregate: Aggregate): Samples {
  const { starts, values, counts } = grains;
  if (aggregate !== 'avg' && aggregate !== 'sum') return { timestamps: starts, values };
  const shown = new Float64Array(values.length);
  for (let i = 0; i < shown.length; i++) {
    const sum = values[i]!;
    if (aggregate === 'avg')
      // Use the scaled sum: a sum of huge values overflows, but their mean does not.
      shown[i] = Number.isFinite(sum) ? sum / counts[i]! : scaledOf(grains, i) / counts[i]! / SCALE;
    else {
      const finite = Number.isFinite(sum) ? sum : scaledOf(grains, i) / SCALE;
      // Limit the value: JSON has no infinity.
      shown[i] = Math.max(-Number.MAX_VALUE, Math.min(finite, Number.MAX_VALUE));
    }
  }
  return { timestamps: starts, values: shown };
}
