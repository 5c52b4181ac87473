import type { Block } from '../codec';
import { type Aggregate, grainsIn, type Samples } from '../model/aggregates';
import { concat } from '../model/columns';
import { CompensatedSum } from '../model/compensated-sum';
import type { Layout } from '../model/layout';
import { SharedTimes } from '../model/shared-times';

/** The values stored for each grain (an hour or a day), in addition to its number of samples. */
export const ROLLED_VALUES = ['sum', 'min', 'max', 'first', 'last'] as const;
export type RolledValue = (typeof ROLLED_VALUES)[number];

/**
 * Additional values that PromQL needs, because its ranges exclude their start and include their end. The
 * _rest_ of a grain is all of its samples except one at the very start of the grain. A value is stored only
 * where a reader cannot derive it. Elsewhere the column has the value of {@link UNSTORED}.
 *
 * - `restMin`: stored where it differs from {@link derivedRestMin}.
 * - `restMax`: stored where it differs from the grain's `max`.
 * - `resets`: the sum of a counter's values just before each fall; 0 if there is no fall. NaN if the values fall too
 *   often for a counter ({@link fallsRarely}).
 * - `toRest`: if a sample is at the grain's start, the difference from the grain's `first` to the first value of its
 *   rest. NaN if the difference is unknown. Where `resets` is NaN, `toRest` is unknown too, but not stored.
 */
export const EXTRA_VALUES = ['restMin', 'restMax', 'resets', 'toRest'] as const;
export type ExtraValue = (typeof EXTRA_VALUES)[number];
export const UNSTORED: Readonly<Record<ExtraValue, number>> = {
  restMin: Number.NaN,
  restMax: Number.NaN,
  resets: 0,
  toRest: 0,
};

export type RolledColumn = RolledValue | ExtraValue;
export const ROLLED_COLUMNS: readonly RolledColumn[] = [...ROLLED_VALUES, ...EXTRA_VALUES];

/** Times and counts of a series' grains. Series that were sampled at the same times have equal times and counts. */
export interface GrainTimes {
  /** Starts of the grains that have samples, as Unix time in ms, ascending. */
  readonly starts: Float64Array;
  /** Number of samples in each grain. */
  readonly counts: Float64Array;
  /** Time from the grain's start to its first sample, in ms. */
  readonly firsts: Float64Array;
  /** Time from the grain's last sample to the grain's end, in ms; at least 1. */
  readonly lasts: Float64Array;
  /**
   * Time from the grain's start to the first sample after it, in ms. Set only if the grain has a sample at its very
   * start. Otherwise it is 0, and `firsts` has this time.
   */
  readonly restFirsts: Float64Array;
  /** 1 at each inexact grain ({@link isInexact}), else 0. PromQL reads the samples of inexact grains. */
  readonly inexact: Float64Array;
}

/** The grains in which a series has samples, ascending. */
export interface RolledSeries extends GrainTimes {
  readonly values: Readonly<Record<RolledValue, Float64Array>>;
  /** A column without a stored value is absent. */
  readonly extras: Readonly<Partial<Record<ExtraValue, Float64Array>>>;
}

/** The grains of a group's series, in the order of the layout. */
export interface RolledGroup {
  readonly layout: Layout;
  readonly series: readonly RolledSeries[];
}

const NONE = new Float64Array(0);
export const NO_GRAINS: RolledSeries = {
  ...eachTime(() => NONE),
  values: eachValue(() => NONE),
  extras: {},
};

/** Aggregates every series of a block. */
export function rollUp({ timestamps, columns }: Block, grainMs: number): RolledSeries[] {
  const shared = new SharedTimes();
  return columns.map(({ rows, values }) => {
    const times = rows === undefined ? timestamps : Float64Array.from(rows, (row) => timestamps[row]!);
    return rollUpSeries({ timestamps: times, values }, grainMs, shared);
  });
}

function rollUpSeries(samples: Samples, grainMs: number, shared: SharedTimes): RolledSeries {
  if (samples.timestamps.length === 0) return NO_GRAINS;
  const grains = (aggregate: Aggregate) => grainsIn(samples, grainMs, aggregate, shared);
  const values = eachValue((name) => Float64Array.from(grains(name).values));
  const counts = grains('count');
  const times = timesOf(
    samples.timestamps,
    Float64Array.from(counts.timestamps),
    Float64Array.from(counts.values),
    grainMs,
  );
  return { ...times, values, extras: extrasOf(samples, times, values) };
}

function timesOf(
  timestamps: ArrayLike<number>,
  starts: Float64Array,
  counts: Float64Array,
  grainMs: number,
): GrainTimes {
  const { length } = starts;
  const [firsts, lasts, restFirsts] = [1, 2, 3].map(() => new Float64Array(length)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  for (let grain = 0, from = 0; grain < length; grain++) {
    const start = starts[grain]!;
    const to = from + counts[grain]!;
    firsts[grain] = timestamps[from]! - start;
    lasts[grain] = start + grainMs - timestamps[to - 1]!;
    if (firsts[grain] === 0 && counts[grain]! > 1) restFirsts[grain] = timestamps[from + 1]! - start;
    from = to;
  }
  return { starts, counts, firsts, lasts, restFirsts, inexact: new Float64Array(length) };
}

/** Computes the extra values, and marks the inexact grains in `inexact`. */
function extrasOf(
  { values: samples }: Samples,
  { starts, counts, firsts, inexact }: GrainTimes,
  { sum, min, max }: RolledSeries['values'],
): RolledSeries['extras'] {
  const extras: Partial<Record<ExtraValue, Float64Array>> = {};
  for (let grain = 0, from = 0; grain < starts.length; grain++) {
    const count = counts[grain]!;
    const store = (name: ExtraValue, value: number) => {
      extras[name] ??= new Float64Array(starts.length).fill(UNSTORED[name]);
      extras[name][grain] = value;
    };
    let [falls, resets] = [0, 0];
    for (let i = from + 1; i < from + count; i++)
      if (samples[i]! < samples[i - 1]!) {
        falls++;
        resets += samples[i - 1]!;
      }
    const isRare = fallsRarely(falls, count);
    if (!isRare) store('resets', Number.NaN);
    else if (falls > 0) store('resets', resets);
    const whole = new CompensatedSum();
    for (let i = from; i < from + count; i++) whole.add(samples[i]!);
    let flag = isInexact(sum[grain]!, whole.total) ? 1 : 0;
    if (firsts[grain] === 0 && count > 1) {
      const first = samples[from]!;
      const second = samples[from + 1]!;
      const difference = second - first;
      const toRest = !isRare ? 0 : first + difference === second ? difference : Number.NaN;
      if (toRest !== 0) store('toRest', toRest);
      const rest = new CompensatedSum();
      let [least, most] = [Infinity, -Infinity];
      for (let i = from + 1; i < from + count; i++) {
        const value = samples[i]!;
        rest.add(value);
        least = Math.min(least, value);
        most = Math.max(most, value);
      }
      if (isInexact(sum[grain]! - first, rest.total)) flag = 1;
      if (least !== derivedRestMin(min[grain]!, first, isRare ? resets : Number.NaN, toRest))
        store('restMin', least);
      if (most !== max[grain]) store('restMax', most);
    }
    inexact[grain] = flag;
    from += count;
  }
  return storedExtras((name) => extras[name]);
}

/**
 * Returns the minimum that a reader assumes for a grain's rest if none is stored. If the values never fall, as in a
 * counter, it is the first value of the rest. Otherwise it is the minimum of the whole grain.
 */
export function derivedRestMin(min: number, first: number, resets: number, toRest: number): number {
  return resets === 0 ? first + toRest : min;
}

/**
 * Returns whether a grain's values may come from a counter: at most one sample in ten is lower than the previous one.
 * For values that fall more often, `resets` is useless, and storing `resets` and `toRest` would take as many bytes as
 * the other values.
 */
function fallsRarely(falls: number, count: number): boolean {
  return 10 * falls <= count;
}

/**
 * Maximum relative error of a grain's stored sum. If all values have the same sign, the actual error is far smaller.
 */
const SUM_ERROR = 1e-12;

/**
 * Whether a sum is too far from the correct sum, or is not finite because one of the grain's values is not finite. (A
 * stale marker, for example, is a NaN.)
 */
function isInexact(sum: number, right: number): boolean {
  return !(Math.abs(sum - right) <= SUM_ERROR * Math.abs(right));
}

/** Returns the grains that start in a half-open range. */
export function sliceRolled(rolled: RolledSeries, fromMs: number, toMs: number): RolledSeries {
  const { starts, values, extras } = rolled;
  let first = 0;
  let end = starts.length;
  while (first < end && starts[first]! < fromMs) first++;
  while (end > first && starts[end - 1]! >= toMs) end--;
  if (first === 0 && end === starts.length) return rolled;
  return {
    ...eachTime((name) => rolled[name].subarray(first, end)),
    values: eachValue((name) => values[name].subarray(first, end)),
    extras: storedExtras((name) => extras[name]?.subarray(first, end)),
  };
}

/** Joins parts whose grains are consecutive. */
export function joinRolled(parts: readonly RolledSeries[]): RolledSeries {
  const full = parts.filter(({ starts }) => starts.length > 0);
  if (full.length <= 1) return full[0] ?? NO_GRAINS;
  const join = (of: (part: RolledSeries) => Float64Array) => concat(full.map(of));
  return {
    ...eachTime((name) => join((part) => part[name])),
    values: eachValue((name) => join(({ values }) => values[name])),
    extras: storedExtras((name) =>
      join(({ starts, extras }) => extras[name] ?? new Float64Array(starts.length).fill(UNSTORED[name])),
    ),
  };
}

/** Returns the extra columns that have a stored value. */
export function storedExtras(
  of: (name: ExtraValue) => Float64Array | undefined,
): Partial<Record<ExtraValue, Float64Array>> {
  const extras: Partial<Record<ExtraValue, Float64Array>> = {};
  for (const name of EXTRA_VALUES) {
    const column = of(name);
    if (column?.some((value) => !Object.is(value, UNSTORED[name]))) extras[name] = column;
  }
  return extras;
}

function eachTime<T>(of: (name: keyof GrainTimes) => T): Record<keyof GrainTimes, T> {
  return {
    starts: of('starts'),
    counts: of('counts'),
    firsts: of('firsts'),
    lasts: of('lasts'),
    restFirsts: of('restFirsts'),
    inexact: of('inexact'),
  };
}

export function eachValue<T>(of: (name: RolledValue) => T): Record<RolledValue, T> {
  return {
    sum: of('sum'),
    min: of('min'),
    max: of('max'),
    first: of('first'),
    last: of('last'),
  };
}
