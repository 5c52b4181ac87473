import { type Block, sampleCount } from '../codec';
import { type Grains, grainsIn, isStorable, type Samples } from '../model/aggregates';
import { concat } from '../model/columns';
import type { Layout } from '../model/layout';
import { SharedTimes } from '../model/shared-times';

/** The values stored for each grain (a minute, an hour or a day), besides its number of samples. */
export const ROLLED_VALUES = ['sum', 'min', 'max', 'first', 'last'] as const;
export type RolledValue = (typeof ROLLED_VALUES)[number];

/** The grains of a series that have samples, ascending. */
export interface RolledSeries {
  /** Starts of the grains, ms since epoch. */
  readonly starts: Float64Array;
  readonly counts: Float64Array;
  readonly values: Readonly<Record<RolledValue, Float64Array>>;
}

/** The grains of a group's series, in the order of the layout. */
export interface RolledGroup {
  readonly layout: Layout;
  readonly series: readonly RolledSeries[];
}

const NONE = new Float64Array(0);
export const NO_GRAINS: RolledSeries = {
  starts: NONE,
  counts: NONE,
  values: { sum: NONE, min: NONE, max: NONE, first: NONE, last: NONE },
};

/**
 * Aggregates every series of a block.
 *
 * @returns undefined when a sum cannot be stored: see {@link isStorable}
 */
export function rollUp(block: Block, grainMs: number): RolledSeries[] | undefined {
  if (sampleCount(block) === 0) return block.columns.map(() => NO_GRAINS);
  const { timestamps } = block;
  const series: RolledSeries[] = [];
  const shared = new SharedTimes();
  for (const { rows, values } of block.columns) {
    const times = rows === undefined ? timestamps : Float64Array.from(rows, (row) => timestamps[row]!);
    const rolled = rollUpSeries({ timestamps: times, values }, grainMs, shared);
    if (rolled === undefined) return undefined;
    series.push(rolled);
  }
  return series;
}

function rollUpSeries(samples: Samples, grainMs: number, shared: SharedTimes): RolledSeries | undefined {
  if (samples.timestamps.length === 0) return NO_GRAINS;
  const sums = grainsIn(samples, grainMs, 'sum', shared);
  if (!isStorable(sums)) return undefined;
  const of = (grains: Grains) => Float64Array.from(grains.values);
  return {
    starts: Float64Array.from(sums.starts),
    counts: of(grainsIn(samples, grainMs, 'count', shared)),
    values: {
      sum: of(sums),
      min: of(grainsIn(samples, grainMs, 'min', shared)),
      max: of(grainsIn(samples, grainMs, 'max', shared)),
      first: of(grainsIn(samples, grainMs, 'first', shared)),
      last: of(grainsIn(samples, grainMs, 'last', shared)),
    },
  };
}

/** Returns the grains that start in a half-open range. */
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

/** Joins parts whose grains are consecutive. */
export function joinRolled(parts: readonly RolledSeries[]): RolledSeries {
  const full = parts.filter(({ starts }) => starts.length > 0);
  if (full.length <= 1) return full[0] ?? NO_GRAINS;
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
