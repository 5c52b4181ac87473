import { type Block, sampleCount } from '../codec';
import { isStorable, type Samples, type Units, unitsIn } from '../model/aggregates';
import { concat } from '../model/columns';
import type { Layout } from '../model/layout';
import { SharedTimes } from '../model/shared-times';

/** The values stored for each unit (a minute, an hour or a day), besides its number of samples. */
export const ROLLED_VALUES = ['sum', 'min', 'max', 'first', 'last'] as const;
export type RolledValue = (typeof ROLLED_VALUES)[number];

/** The units of a series that have samples, ascending. */
export interface RolledSeries {
  /** Starts of the units, ms since epoch. */
  readonly starts: Float64Array;
  readonly counts: Float64Array;
  readonly values: Readonly<Record<RolledValue, Float64Array>>;
}

/** The units of a group's series, in the order of the layout. */
export interface RolledGroup {
  readonly layout: Layout;
  readonly series: readonly RolledSeries[];
}

const NONE = new Float64Array(0);
export const NO_UNITS: RolledSeries = {
  starts: NONE,
  counts: NONE,
  values: { sum: NONE, min: NONE, max: NONE, first: NONE, last: NONE },
};

/**
 * Aggregates every series of a block.
 *
 * @returns undefined when a sum cannot be stored: see {@link isStorable}
 */
export function rollUp(block: Block, unitMs: number): RolledSeries[] | undefined {
  if (sampleCount(block) === 0) return block.columns.map(() => NO_UNITS);
  const { timestamps } = block;
  const series: RolledSeries[] = [];
  const shared = new SharedTimes();
  for (const { rows, values } of block.columns) {
    const times = rows === undefined ? timestamps : Float64Array.from(rows, (row) => timestamps[row]!);
    const rolled = rollUpSeries({ timestamps: times, values }, unitMs, shared);
    if (rolled === undefined) return undefined;
    series.push(rolled);
  }
  return series;
}

function rollUpSeries(samples: Samples, unitMs: number, shared: SharedTimes): RolledSeries | undefined {
  if (samples.timestamps.length === 0) return NO_UNITS;
  const sums = unitsIn(samples, unitMs, 'sum', shared);
  if (!isStorable(sums)) return undefined;
  const of = (units: Units) => Float64Array.from(units.values);
  return {
    starts: Float64Array.from(sums.starts),
    counts: of(unitsIn(samples, unitMs, 'count', shared)),
    values: {
      sum: of(sums),
      min: of(unitsIn(samples, unitMs, 'min', shared)),
      max: of(unitsIn(samples, unitMs, 'max', shared)),
      first: of(unitsIn(samples, unitMs, 'first', shared)),
      last: of(unitsIn(samples, unitMs, 'last', shared)),
    },
  };
}

/** Returns the units that start in a half-open range. */
export function sliceRolled(rolled: RolledSeries, fromMs: number, toMs: number): RolledSeries {
  const { starts } = rolled;
  let first = 0;
  let end = starts.length;
  while (first < end && starts[first]! < fromMs) first++;
  while (end > first && starts[end - 1]! >= toMs) end--;
  return first === 0 && end === starts.length
    ? rolled
    : mapRolled(rolled, (column) => column.subarray(first, end));
}

/** Joins parts whose units are consecutive. */
export function joinRolled(parts: readonly RolledSeries[]): RolledSeries {
  const full = parts.filter(({ starts }) => starts.length > 0);
  if (full.length <= 1) return full[0] ?? NO_UNITS;
  return {
    starts: concat(full.map(({ starts }) => starts)),
    counts: concat(full.map(({ counts }) => counts)),
    values: eachValue((name) => concat(full.map(({ values }) => values[name]))),
  };
}

function mapRolled(
  { starts, counts, values }: RolledSeries,
  map: (column: Float64Array) => Float64Array,
): RolledSeries {
  return { starts: map(starts), counts: map(counts), values: eachValue((name) => map(values[name])) };
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
