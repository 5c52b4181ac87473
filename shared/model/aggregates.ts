import { concat } from './columns';
import { DAY_MS } from './duration';
import { type Cuts, SharedTimes } from './shared-times';

/**
 * Aggregates the samples of a series by aligned steps of time.
 *
 * Stored rollups must give the same result, bit for bit, as the samples. Floating-point sums depend on the
 * order of additions, so there is only one definition. A step aggregates grains, which are aligned days or
 * hours: the longest ones that divide it. A day aggregates its hours, and an hour its samples. A step that no
 * grain divides aggregates its samples. Sums are sums of sums in order of time, the
 * minimum is the minimum of minima, the first value is the first of the first values, and so on.
 *
 * Every sample counts, including stale markers, which are NaNs. A NaN makes its step's sum, average, minimum
 * and maximum NaN. Infinities are added according to IEEE 754. The minimum of 0 and -0 is -0; a sum is never
 * -0.
 */

/** The samples of a series, ascending in time, at most one for each timestamp. */
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
 * Factor for values, so that their sum does not overflow. It is a power of two, so it changes no other bits
 * of a value, except of a denormal.
 */
const SCALE = 2 ** -64;

/** One aggregate of a series, for each grain of time that has samples, ascending. */
export interface Grains {
  /** The starts of the grains, ms since epoch. */
  readonly starts: ArrayLike<number>;
  /** The aggregate of each grain; for `avg`, the sum of its samples. */
  readonly values: ArrayLike<number>;
  /**
   * For `avg` and `sum`, the sum of each grain's samples times 2^-64, which does not overflow. Undefined if
   * all equal `values` times 2^-64, as they do if no sum overflows.
   */
  readonly scaled: ArrayLike<number> | undefined;
  /** For `avg`, the number of samples in each grain; else empty. */
  readonly counts: ArrayLike<number>;
}

/** Returns the length of the grains that a step aggregates, ms; undefined if it aggregates samples. */
export function storedGrainMs(stepMs: number): number | undefined {
  return [DAY_MS, HOUR_MS].find((grainMs) => stepMs % grainMs === 0);
}

/**
 * Aggregates the samples of each aligned step. Leaves out steps without samples.
 *
 * @param stored grains from rollups, of length {@link storedGrainMs}. None may cover the time of a sample in `samples`
 * @param shared cache for the series of one answer
 * @returns a sample at the start of each step
 */
export function downsample(
  samples: Samples,
  stepMs: number,
  aggregate: Aggregate = 'avg',
  stored?: Grains,
  shared = new SharedTimes(),
): Samples {
  const grainMs = storedGrainMs(stepMs);
  if (grainMs === undefined) return shownOf(grainsOf(samples, stepMs, aggregate, shared), aggregate);
  const own = grainsIn(samples, grainMs, aggregate, shared);
  const grains = stored === undefined ? own : mergeGrains(own, stored, aggregate, shared);
  return shownOf(stepMs === grainMs ? grains : foldGrains(grains, stepMs, aggregate, shared), aggregate);
}

/** Aggregates samples into hours or days, as rollups store them. */
export function grainsIn(
  samples: Samples,
  grainMs: number,
  aggregate: Aggregate,
  shared: SharedTimes,
): Grains {
  if (grainMs < DAY_MS) return grainsOf(samples, grainMs, aggregate, shared);
  return foldGrains(grainsOf(samples, HOUR_MS, aggregate, shared), grainMs, aggregate, shared);
}

/**
 * Whether a rollup can store these grains. A rollup has no `scaled` sums, so it cannot if a sum of finite
 * values is infinite.
 */
export function isStorable({ values, scaled }: Grains): boolean {
  if (scaled === undefined) return true;
  for (let i = 0; i < values.length; i++)
    if (!Number.isFinite(values[i]!) && !Object.is(values[i]! * SCALE, scaled[i])) return false;
  return true;
}

/** Makes grains from the columns that a rollup has of an aggregate. */
export function storedGrains(
  aggregate: Aggregate,
  starts: ArrayLike<number>,
  values: ArrayLike<number>,
  counts: ArrayLike<number>,
): Grains {
  return { starts, values, scaled: undefined, counts: aggregate === 'avg' ? counts : NOTHING };
}

const NOTHING = new Float64Array(0);

/** A list of grains that is being filled. Its capacity is fixed. */
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

  /** Sets the scaled sum of the last grain, whose sum is not finite. */
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

/** Returns the scaled sum of a grain. */
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
 * Aggregates the values of each grain.
 *
 * @param of returns the aggregate of the values with indexes in `[first, end)`
 * @param scaledSum returns the scaled sum of such a range
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

/** Joins lists of grains of one aggregate that follow one another in time. */
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

/** How each aggregate is computed of the values with indexes in `[first, end)`, at least one. */
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

/** Returns grains as samples at their starts, with finite averages and sums. */
function shownOf(grains: Grains, aggregate: Aggregate): Samples {
  const { starts, values, counts } = grains;
  if (aggregate !== 'avg' && aggregate !== 'sum') return { timestamps: starts, values };
  const shown = new Float64Array(values.length);
  for (let i = 0; i < shown.length; i++) {
    const sum = values[i]!;
    if (aggregate === 'avg')
      // If the sum of huge values overflows, use the scaled sum: their average need not overflow.
      shown[i] = Number.isFinite(sum) ? sum / counts[i]! : scaledOf(grains, i) / counts[i]! / SCALE;
    else {
      const finite = Number.isFinite(sum) ? sum : scaledOf(grains, i) / SCALE;
      // Return the largest number instead of an infinity, which JSON does not have.
      shown[i] = Math.max(-Number.MAX_VALUE, Math.min(finite, Number.MAX_VALUE));
    }
  }
  return { timestamps: starts, values: shown };
}
