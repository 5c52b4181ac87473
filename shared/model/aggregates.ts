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
  /** `avg` and `sum`: the sums of values scaled by 2^-64. Where `values` is finite, that times 2^-64. */
  readonly scaled: ArrayLike<number>;
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
  const isSum = aggregate === 'avg' || aggregate === 'sum';
  return {
    starts,
    values,
    scaled: isSum ? Float64Array.from(values, (value) => value * SCALE) : NOTHING,
    counts: aggregate === 'avg' ? counts : NOTHING,
  };
}

const NOTHING = new Float64Array(0);

/** Units in the making. */
class UnitList implements Units {
  readonly starts: number[] = [];
  readonly values: number[] = [];
  readonly scaled: number[] = [];
  readonly counts: number[] = [];
}

/** Aggregates the samples of each aligned unit. */
function unitsOf({ timestamps, values }: Samples, unitMs: number, aggregate: Aggregate): Units {
  const units = new UnitList();
  const add = OF_SAMPLES[aggregate];
  for (let first = 0; first < timestamps.length; ) {
    const start = Math.floor(timestamps[first]! / unitMs) * unitMs;
    let end = first + 1;
    while (end < timestamps.length && timestamps[end]! < start + unitMs) end++;
    units.starts.push(start);
    add(units, values, first, end);
    first = end;
  }
  return units;
}

/** Aggregates the units of each aligned longer one. */
function foldUnits(units: Units, unitMs: number, aggregate: Aggregate): Units {
  const folded = new UnitList();
  const { starts, values, scaled, counts } = units;
  for (let first = 0; first < starts.length; ) {
    const start = Math.floor(starts[first]! / unitMs) * unitMs;
    let end = first + 1;
    while (end < starts.length && starts[end]! < start + unitMs) end++;
    folded.starts.push(start);
    if (aggregate === 'avg' || aggregate === 'sum') {
      let sum = 0;
      for (let i = first; i < end; i++) sum += values[i]!;
      addSum(folded, sum, () => sumOf(scaled, first, end));
      if (aggregate === 'avg') folded.counts.push(sumOf(counts, first, end));
    } else if (aggregate === 'count') folded.values.push(sumOf(values, first, end));
    else OF_SAMPLES[aggregate](folded, values, first, end);
    first = end;
  }
  return folded;
}

/** Puts units of the same aggregate in order of time; no unit is in both. */
function mergeUnits(a: Units, b: Units, aggregate: Aggregate): Units {
  if (a.starts.length === 0) return b;
  if (b.starts.length === 0) return a;
  const merged = new UnitList();
  const isSum = aggregate === 'avg' || aggregate === 'sum';
  for (let i = 0, j = 0; i < a.starts.length || j < b.starts.length; ) {
    const takesA = j === b.starts.length || (i < a.starts.length && a.starts[i]! < b.starts[j]!);
    const from = takesA ? a : b;
    const at = takesA ? i++ : j++;
    merged.starts.push(from.starts[at]!);
    merged.values.push(from.values[at]!);
    if (isSum) merged.scaled.push(from.scaled[at]!);
    if (aggregate === 'avg') merged.counts.push(from.counts[at]!);
  }
  return merged;
}

type Adder = (units: UnitList, values: ArrayLike<number>, first: number, end: number) => void;

/** Each adds the aggregate of `values` from `first` to before `end`, at least one. */
const OF_SAMPLES: Readonly<Record<Aggregate, Adder>> = {
  avg: (units, values, first, end) => {
    addSumOf(units, values, first, end);
    units.counts.push(end - first);
  },
  sum: addSumOf,
  min: ({ values: mins }, values, first, end) => {
    let min = values[first]!;
    for (let i = first + 1; i < end; i++) min = Math.min(min, values[i]!);
    mins.push(min);
  },
  max: ({ values: maxs }, values, first, end) => {
    let max = values[first]!;
    for (let i = first + 1; i < end; i++) max = Math.max(max, values[i]!);
    maxs.push(max);
  },
  count: ({ values: counts }, _, first, end) => counts.push(end - first),
  first: ({ values: firsts }, values, first) => firsts.push(values[first]!),
  last: ({ values: lasts }, values, _, end) => lasts.push(values[end - 1]!),
};

function addSumOf(units: UnitList, values: ArrayLike<number>, first: number, end: number): void {
  addSum(units, sumOf(values, first, end), () => {
    let scaled = 0;
    for (let i = first; i < end; i++) scaled += values[i]! * SCALE;
    return scaled;
  });
}

/** @param scaledSum the sum of scaled values, asked for where `sum` is not finite */
function addSum({ values, scaled }: UnitList, sum: number, scaledSum: () => number): void {
  values.push(sum);
  scaled.push(Number.isFinite(sum) ? sum * SCALE : scaledSum());
}

function sumOf(values: ArrayLike<number>, first: number, end: number): number {
  let sum = 0;
  for (let i = first; i < end; i++) sum += values[i]!;
  return sum;
}

/** Units as samples at their starts. */
function shownOf({ starts, values, scaled, counts }: Units, aggregate: Aggregate): Samples {
  if (aggregate === 'avg')
    return {
      timestamps: starts,
      // The sum of huge values overflows, their mean does not.
      values: Array.from(values, (sum, i) =>
        Number.isFinite(sum) ? sum / counts[i]! : scaled[i]! / counts[i]! / SCALE,
      ),
    };
  if (aggregate === 'sum')
    return {
      timestamps: starts,
      // JSON has no infinity.
      values: Array.from(values, (sum, i) =>
        Math.max(
          -Number.MAX_VALUE,
          Math.min(Number.isFinite(sum) ? sum : scaled[i]! / SCALE, Number.MAX_VALUE),
        ),
      ),
    };
  return { timestamps: starts, values };
}
