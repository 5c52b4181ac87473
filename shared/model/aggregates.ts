import { concat } from './columns';
import { DAY_MS } from './duration';
import { type Cuts, SharedTimes } from './shared-times';

/**
 * Aggregates a series by aligned steps of time.
 *
 * There is one definition, whatever a value is computed from. A step aggregates the longest of these units
 * that divides it: days, which aggregate their hours; hours; minutes; otherwise its samples. Sums are sums of
 * sums in order of time, the minimum is the minimum of minima, the first value is the first of the first
 * values, and so on. So stored units (rollups) give the same result, bit for bit, as the samples. Samples
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

/** One aggregate of the units of time that have samples, ascending. */
export interface Units {
  /** The starts of the units, ms since epoch. */
  readonly starts: ArrayLike<number>;
  /** The aggregate of each unit; for `avg`, the sum. */
  readonly values: ArrayLike<number>;
  /**
   * For `avg` and `sum`: the sums of values scaled by 2^-64. Undefined if every one is `values` times 2^-64,
   * as it is for finite sums.
   */
  readonly scaled: ArrayLike<number> | undefined;
  /** For `avg`: the number of samples in each unit. */
  readonly counts: ArrayLike<number>;
}

/**
 * Returns the length of the units that a step is made of: a day, an hour, a minute, or undefined if it is
 * made of samples.
 */
export function storedUnitMs(stepMs: number): number | undefined {
  return [DAY_MS, HOUR_MS, MINUTE_MS].find((unitMs) => stepMs % unitMs === 0);
}

/**
 * Aggregates the samples of each aligned step, omitting steps without samples.
 *
 * @param stored further units of length {@link storedUnitMs}; none may contain any of the samples
 * @param shared cache for the series of one answer
 * @returns samples at the starts of the steps
 */
export function downsample(
  samples: Samples,
  stepMs: number,
  aggregate: Aggregate = 'avg',
  stored?: Units,
  shared = new SharedTimes(),
): Samples {
  const unitMs = storedUnitMs(stepMs);
  // With at most one sample a minute, aggregating into minutes would change nothing.
  const isDirect =
    unitMs === MINUTE_MS && stored === undefined && shared.isSparse(samples.timestamps, MINUTE_MS);
  if (unitMs === undefined || isDirect)
    return shownOf(unitsOf(samples, stepMs, aggregate, shared), aggregate);
  const own = unitsIn(samples, unitMs, aggregate, shared);
  const units = stored === undefined ? own : mergeUnits(own, stored, aggregate, shared);
  return shownOf(stepMs === unitMs ? units : foldUnits(units, stepMs, aggregate, shared), aggregate);
}

/** Aggregates samples into minutes, hours or days, in the same way as for storing them. */
export function unitsIn(samples: Samples, unitMs: number, aggregate: Aggregate, shared: SharedTimes): Units {
  if (unitMs < DAY_MS) return unitsOf(samples, unitMs, aggregate, shared);
  return foldUnits(unitsOf(samples, HOUR_MS, aggregate, shared), unitMs, aggregate, shared);
}

/** Whether {@link storedUnits} can restore the sums. It cannot if the sum of finite values is infinite. */
export function isStorable({ values, scaled }: Units): boolean {
  if (scaled === undefined) return true;
  for (let i = 0; i < values.length; i++)
    if (!Number.isFinite(values[i]!) && !Object.is(values[i]! * SCALE, scaled[i])) return false;
  return true;
}

/** Makes units from the stored columns of an aggregate. */
export function storedUnits(
  aggregate: Aggregate,
  starts: ArrayLike<number>,
  values: ArrayLike<number>,
  counts: ArrayLike<number>,
): Units {
  return { starts, values, scaled: undefined, counts: aggregate === 'avg' ? counts : NOTHING };
}

const NOTHING = new Float64Array(0);

/** A list of units that is being filled, up to the capacity it was created with. */
class UnitList {
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

  /** Sets the scaled sum of the last unit, where the sum given to {@link add} is not finite. */
  scaleLast(scaled: number): void {
    this.scaledOf ??= this.valuesOf.map((value) => value * SCALE);
    this.scaledOf[this.length - 1] = scaled;
  }

  finish(): Units {
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

/** Returns the sum of a unit's scaled values. */
function scaledOf({ values, scaled }: Units, index: number): number {
  return scaled === undefined ? values[index]! * SCALE : scaled[index]!;
}

/** Aggregates the samples of each aligned unit. */
function unitsOf(
  { timestamps, values }: Samples,
  unitMs: number,
  aggregate: Aggregate,
  shared: SharedTimes,
): Units {
  if (timestamps.length === 0) return NO_UNITS;
  const cuts = shared.cut(timestamps, unitMs);
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

/** Aggregates units into longer aligned units. */
function foldUnits(units: Units, unitMs: number, aggregate: Aggregate, shared: SharedTimes): Units {
  const { starts, values, counts } = units;
  if (starts.length === 0) return NO_UNITS;
  const cuts = shared.cut(starts, unitMs);
  const scaledSum = (first: number, end: number) => {
    let scaled = 0;
    for (let i = first; i < end; i++) scaled += scaledOf(units, i);
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
): Omit<Units, 'counts'> {
  const isSum = aggregate === 'avg' || aggregate === 'sum';
  const own = new Float64Array(starts.length);
  let areFinite = true;
  for (let unit = 0, first = 0; unit < own.length; first = ends[unit++]!) {
    const value = of(values, first, ends[unit]!);
    own[unit] = value;
    if (isSum && !Number.isFinite(value)) areFinite = false;
  }
  if (areFinite) return { starts, values: own, scaled: undefined };
  const scaled = own.map((value, unit) =>
    Number.isFinite(value) ? value * SCALE : scaledSum(unit === 0 ? 0 : ends[unit - 1]!, ends[unit]!),
  );
  return { starts, values: own, scaled };
}

/** Merges units of the same aggregate in order of time. No unit may be in both. */
export function mergeUnits(a: Units, b: Units, aggregate: Aggregate, shared: SharedTimes): Units {
  if (a.starts.length === 0) return b;
  if (b.starts.length === 0) return a;
  if (a.starts[a.starts.length - 1]! < b.starts[0]!) return joinUnits([a, b], shared);
  if (b.starts[b.starts.length - 1]! < a.starts[0]!) return joinUnits([b, a], shared);
  const merged = new UnitList(a.starts.length + b.starts.length, aggregate === 'avg');
  for (let i = 0, j = 0; i < a.starts.length || j < b.starts.length; ) {
    const takesA = j === b.starts.length || (i < a.starts.length && a.starts[i]! < b.starts[j]!);
    const from = takesA ? a : b;
    const at = takesA ? i++ : j++;
    merged.add(from.starts[at]!, from.values[at]!, from.counts[at]!);
    if (from.scaled !== undefined) merged.scaleLast(from.scaled[at]!);
  }
  return merged.finish();
}

/** Joins units of the same aggregate. Each part must begin after the previous one ends. */
export function joinUnits(parts: readonly Units[], shared: SharedTimes): Units {
  if (parts.length === 1) return parts[0]!;
  return {
    starts: shared.join(parts.map(({ starts }) => starts)),
    values: concat(parts.map(({ values }) => values)),
    scaled: parts.every(({ scaled }) => scaled === undefined)
      ? undefined
      : concat(parts.map((units) => Float64Array.from(units.values, (_, i) => scaledOf(units, i)))),
    counts: shared.join(parts.map(({ counts }) => counts)),
  };
}

const NO_UNITS: Units = { starts: NOTHING, values: NOTHING, scaled: undefined, counts: NOTHING };

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

/** Converts units to samples at the units' starts. */
function shownOf(units: Units, aggregate: Aggregate): Samples {
  const { starts, values, counts } = units;
  if (aggregate !== 'avg' && aggregate !== 'sum') return { timestamps: starts, values };
  const shown = new Float64Array(values.length);
  for (let i = 0; i < shown.length; i++) {
    const sum = values[i]!;
    if (aggregate === 'avg')
      // Use the scaled sum: a sum of huge values overflows, but their mean does not.
      shown[i] = Number.isFinite(sum) ? sum / counts[i]! : scaledOf(units, i) / counts[i]! / SCALE;
    else {
      const finite = Number.isFinite(sum) ? sum : scaledOf(units, i) / SCALE;
      // Limit the value: JSON has no infinity.
      shown[i] = Math.max(-Number.MAX_VALUE, Math.min(finite, Number.MAX_VALUE));
    }
  }
  return { timestamps: starts, values: shown };
}
