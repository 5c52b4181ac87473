import { concat } from './columns';
import { DAY_MS } from './duration';
import { type Cuts, SharedTimes } from './shared-times';

/**
 * Aggregates of a series by aligned steps of time.
 *
 * There is one definition, whatever a value is computed from. A step aggregates the longest of these units that divides it: its
 * days, which aggregate their hours; its hours; its minutes; else its samples. Sums are sums of sums in order of time, the least
 * is the least of the least, the first is the first of the first. So stored units (rollups) give, bit for bit, what the samples
 * give. Samples are ascending and one a timestamp.
 *
 * Every sample counts, stale markers too: they are NaNs. A NaN makes its step's sum, average, least and greatest value NaN.
 * Infinities are added as IEEE 754 says. The least of 0 and -0 is -0; a sum is never -0.
 */

/** A series' samples, ascending. */
export interface Samples {
  readonly timestamps: ArrayLike<number>;
  readonly values: ArrayLike<number>;
}

export const AGGREGATES = ['avg', 'min', 'max', 'sum', 'count', 'first', 'last'] as const;
/** How the samples of a step become one value. */
export type Aggregate = (typeof AGGREGATES)[number];

export const HOUR_MS = DAY_MS / 24;
export const MINUTE_MS = HOUR_MS / 60;

/** Minutes are stored of groups whose series have a sample in less than this, on average. */
export const DENSE_INTERVAL_MS = 10_000;

/** A power of two: scaling by it loses nothing but denormals, and the sum of scaled values does not overflow. */
const SCALE = 2 ** -64;

/** One aggregate of consecutive units of time, those that have samples, ascending. */
export interface Units {
  /** The starts of the units, ms since epoch. */
  readonly starts: ArrayLike<number>;
  /** The aggregate; the sum for `avg`. */
  readonly values: ArrayLike<number>;
  /** `avg` and `sum`: the sums of values scaled by 2^-64. Undefined: `values` times 2^-64, as it is where they are finite. */
  readonly scaled: ArrayLike<number> | undefined;
  /** `avg`: numbers of samples. */
  readonly counts: ArrayLike<number>;
}

/** The length of the units that a step is made of: a day, an hour, a minute, or undefined if it is made of samples alone. */
export function storedUnitMs(stepMs: number): number | undefined {
  return [DAY_MS, HOUR_MS, MINUTE_MS].find((unitMs) => stepMs % unitMs === 0);
}

/**
 * Aggregates the samples of each aligned step; leaves out steps that have none.
 *
 * @param stored units of {@link storedUnitMs}, none of which has any of the samples
 * @param shared of the series of an answer
 * @returns samples at the starts of their steps
 */
export function downsample(
  samples: Samples,
  stepMs: number,
  aggregate: Aggregate = 'avg',
  stored?: Units,
  shared = new SharedTimes(),
): Samples {
  const unitMs = storedUnitMs(stepMs);
  // Of a sample a minute, minutes aggregate nothing.
  const isDirect =
    unitMs === MINUTE_MS && stored === undefined && shared.isSparse(samples.timestamps, MINUTE_MS);
  if (unitMs === undefined || isDirect)
    return shownOf(unitsOf(samples, stepMs, aggregate, shared), aggregate);
  const own = unitsIn(samples, unitMs, aggregate, shared);
  const units = stored === undefined ? own : mergeUnits(own, stored, aggregate, shared);
  return shownOf(stepMs === unitMs ? units : foldUnits(units, stepMs, aggregate, shared), aggregate);
}

/** Aggregates samples into minutes, hours or days, as they are stored. */
export function unitsIn(samples: Samples, unitMs: number, aggregate: Aggregate, shared: SharedTimes): Units {
  if (unitMs < DAY_MS) return unitsOf(samples, unitMs, aggregate, shared);
  return foldUnits(unitsOf(samples, HOUR_MS, aggregate, shared), unitMs, aggregate, shared);
}

/** Whether {@link storedUnits} can give a sum back: not where the values are finite and their sum is not. */
export function isStorable({ values, scaled }: Units): boolean {
  if (scaled === undefined) return true;
  for (let i = 0; i < values.length; i++)
    if (!Number.isFinite(values[i]!) && !Object.is(values[i]! * SCALE, scaled[i])) return false;
  return true;
}

/** Units of an aggregate as they were stored. */
export function storedUnits(
  aggregate: Aggregate,
  starts: ArrayLike<number>,
  values: ArrayLike<number>,
  counts: ArrayLike<number>,
): Units {
  return { starts, values, scaled: undefined, counts: aggregate === 'avg' ? counts : NOTHING };
}

const NOTHING = new Float64Array(0);

/** Units in the making, of which there are no more than room was made for. */
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

  /** @param count of samples; not kept where counts are not asked for */
  add(start: number, value: number, count: number): void {
    const at = this.length++;
    this.startsOf[at] = start;
    this.valuesOf[at] = value;
    if (this.countsOf.length > 0) this.countsOf[at] = count;
    if (this.scaledOf !== undefined) this.scaledOf[at] = value * SCALE;
  }

  /** Says what the sum of scaled values is, where that of {@link add} is not finite. */
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

/** The sum of a unit's scaled values. */
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

/** Aggregates the units of each aligned longer one. */
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
 * @param of gives the aggregate of values, from an index to before another
 * @param scaledSum gives the sum of scaled values of such a range
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

/** Puts units of the same aggregate in order of time; no unit is in both. */
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

/** Joins units of the same aggregate, each of which begin after those before end. */
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

/** Each gives the aggregate of `values` from `first` to before `end`, at least one. */
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

/** Units as samples at their starts. */
function shownOf(units: Units, aggregate: Aggregate): Samples {
  const { starts, values, counts } = units;
  if (aggregate !== 'avg' && aggregate !== 'sum') return { timestamps: starts, values };
  const shown = new Float64Array(values.length);
  for (let i = 0; i < shown.length; i++) {
    const sum = values[i]!;
    if (aggregate === 'avg')
      // The sum of huge values overflows, their mean does not.
      shown[i] = Number.isFinite(sum) ? sum / counts[i]! : scaledOf(units, i) / counts[i]! / SCALE;
    else {
      const finite = Number.isFinite(sum) ? sum : scaledOf(units, i) / SCALE;
      // JSON has no infinity.
      shown[i] = Math.max(-Number.MAX_VALUE, Math.min(finite, Number.MAX_VALUE));
    }
  }
  return { timestamps: starts, values: shown };
}
