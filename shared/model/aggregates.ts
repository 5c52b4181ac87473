import { DAY_MS } from './duration';

/**
 * Aggregates of a series by aligned steps of time.
 *
 * There is one definition, whatever a value is computed from. A step that is no multiple of an hour aggregates its samples. A
 * multiple of an hour aggregates its hours, and a multiple of a day its days, which aggregate their hours: sums of sums in order
 * of time, the least of the least, the first of the first. So stored hours and days (rollups) give, bit for bit, what the samples
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

/** The length of the stored units that a step is made of: a day, an hour, or undefined if it is made of samples alone. */
export function storedUnitMs(stepMs: number): number | undefined {
  if (stepMs % DAY_MS === 0) return DAY_MS;
  return stepMs % HOUR_MS === 0 ? HOUR_MS : undefined;
}

/**
 * Aggregates the samples of each aligned step; leaves out steps that have none.
 *
 * @param stored units of {@link storedUnitMs}, none of which has any of the samples
 * @returns samples at the starts of their steps
 */
export function downsample(
  samples: Samples,
  stepMs: number,
  aggregate: Aggregate = 'avg',
  stored?: Units,
): Samples {
  const unitMs = storedUnitMs(stepMs);
  if (unitMs === undefined) return shownOf(unitsOf(samples, stepMs, aggregate), aggregate);
  const own = unitsIn(samples, unitMs, aggregate);
  const units = stored === undefined ? own : mergeUnits(own, stored, aggregate);
  return shownOf(stepMs === unitMs ? units : foldUnits(units, stepMs, aggregate), aggregate);
}

/** Aggregates samples into hours or days, as they are stored. */
export function unitsIn(samples: Samples, unitMs: number, aggregate: Aggregate): Units {
  const hours = unitsOf(samples, HOUR_MS, aggregate);
  return unitMs === HOUR_MS ? hours : foldUnits(hours, unitMs, aggregate);
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
function unitsOf({ timestamps, values }: Samples, unitMs: number, aggregate: Aggregate): Units {
  if (timestamps.length === 0) return NO_UNITS;
  const firstUnit = Math.floor(timestamps[0]! / unitMs);
  const spanned = Math.floor(timestamps[timestamps.length - 1]! / unitMs) - firstUnit + 1;
  const units = new UnitList(Math.min(timestamps.length, spanned), aggregate === 'avg');
  const isSum = aggregate === 'avg' || aggregate === 'sum';
  const of = OF_SAMPLES[aggregate];
  for (let first = 0; first < timestamps.length; ) {
    const start = Math.floor(timestamps[first]! / unitMs) * unitMs;
    let end = first + 1;
    while (end < timestamps.length && timestamps[end]! < start + unitMs) end++;
    const value = of(values, first, end);
    units.add(start, value, end - first);
    if (isSum && !Number.isFinite(value)) {
      let scaled = 0;
      for (let i = first; i < end; i++) scaled += values[i]! * SCALE;
      units.scaleLast(scaled);
    }
    first = end;
  }
  return units.finish();
}

/** Aggregates the units of each aligned longer one. */
function foldUnits(units: Units, unitMs: number, aggregate: Aggregate): Units {
  const { starts, values, counts } = units;
  if (starts.length === 0) return NO_UNITS;
  const isSum = aggregate === 'avg' || aggregate === 'sum';
  const folded = new UnitList(starts.length, aggregate === 'avg');
  const of = aggregate === 'count' ? sumOf : OF_SAMPLES[aggregate];
  for (let first = 0; first < starts.length; ) {
    const start = Math.floor(starts[first]! / unitMs) * unitMs;
    let end = first + 1;
    while (end < starts.length && starts[end]! < start + unitMs) end++;
    const value = of(values, first, end);
    folded.add(start, value, aggregate === 'avg' ? sumOf(counts, first, end) : 0);
    if (isSum && !Number.isFinite(value)) {
      let scaled = 0;
      for (let i = first; i < end; i++) scaled += scaledOf(units, i);
      folded.scaleLast(scaled);
    }
    first = end;
  }
  return folded.finish();
}

/** Puts units of the same aggregate in order of time; no unit is in both. */
export function mergeUnits(a: Units, b: Units, aggregate: Aggregate): Units {
  if (a.starts.length === 0) return b;
  if (b.starts.length === 0) return a;
  if (a.starts[a.starts.length - 1]! < b.starts[0]!) return joinUnits(a, b);
  if (b.starts[b.starts.length - 1]! < a.starts[0]!) return joinUnits(b, a);
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
export function joinUnits(...parts: readonly Units[]): Units {
  if (parts.length === 1) return parts[0]!;
  const join = (of: (units: Units) => ArrayLike<number>): Float64Array => {
    const columns = parts.map(of);
    const joined = new Float64Array(columns.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const column of columns) {
      joined.set(column, at);
      at += column.length;
    }
    return joined;
  };
  return {
    starts: join(({ starts }) => starts),
    values: join(({ values }) => values),
    scaled: parts.every(({ scaled }) => scaled === undefined)
      ? undefined
      : join((units) => Float64Array.from(units.values, (_, i) => scaledOf(units, i))),
    counts: join(({ counts }) => counts),
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
