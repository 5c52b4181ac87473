/** Makes points for PromQL from rollups: see {@link RollupUse}. */
import type { ReadGrains } from '../cold/rollup-format';
import { derivedRestMin, type GrainTimes, type RolledColumn } from '../cold/rollup-grains';
import type { ReadPlace, RolledObject } from '../cold/rollup-read';
import { DAY_MS } from '../model/duration';
import type { TimeRange } from '../model/selection';
import { grainStartMs } from '../promql/grains';
import {
  type AskedGrains,
  firstFrom,
  type RollupUse,
  type SampleColumns,
  withoutStale,
} from '../promql/store';

/** Points of a series, ascending. */
export type Points = Required<Omit<SampleColumns, 'labels'>>;

/** The columns that a use always needs, and those that it needs if a sample is at the very start of a grain. */
const COLUMNS: Readonly<Record<RollupUse, readonly [always: RolledColumn[], atStart: RolledColumn[]]>> = {
  count: [[], []],
  sum: [['sum'], ['first']],
  min: [['min'], ['first', 'restMin', 'resets', 'toRest']],
  max: [['max'], ['first', 'restMax']],
  first: [['first'], ['resets', 'toRest']],
  last: [['last'], ['first']],
  difference: [
    ['first', 'last'],
    ['resets', 'toRest'],
  ],
  increase: [['first', 'last', 'resets'], ['toRest']],
};

/** Returns a function that selects the columns to read, by the times of a series' grains. */
export function columnsFor({ use, isWidened }: AskedGrains): (times: GrainTimes) => readonly RolledColumn[] {
  const [always, atStart] = COLUMNS[use];
  const all = [...always, ...atStart];
  return ({ firsts }) => (!isWidened && firsts.includes(0) ? all : always);
}

/** Points of several series, and the days of which no points can be made. */
export interface RolledPoints {
  /** By position of the series. */
  readonly series: readonly Points[];
  /** Starts of the days whose samples must be read instead, ms. */
  readonly unproven: ReadonlySet<number>;
  readonly places: readonly ReadPlace[];
}

/**
 * Makes the points of all series. A day of which a point is unknown has no points in any series, because the
 * samples of all series are then read together.
 *
 * @param seriesCount number of series that are read
 */
export function pointsOf(
  objects: readonly RolledObject[],
  asked: AskedGrains,
  seriesCount: number,
): RolledPoints {
  const unproven = new Set<number>();
  for (const { asked: object, grains } of objects)
    for (const [, own] of grains) for (const range of object.ranges) addUnproven(unproven, own, range, asked);
  const lists: PointList[] = Array.from({ length: seriesCount }, () => new PointList());
  const places = objects.map(({ asked: { ranges }, grains, place, bytes }) => {
    let [samples, firstMs, lastMs] = [0, Infinity, -Infinity];
    for (const [position, own] of grains) {
      const { starts, counts } = own.times;
      for (const range of ranges) {
        const [from, to] = grainsIn(starts, range, asked.grainMs);
        for (let grain = from; grain < to; grain++) {
          const start = starts[grain]!;
          if (unproven.has(grainStartMs(start, DAY_MS))) continue;
          addPoints(lists[position]!, own, grain, range, asked);
          samples += counts[grain]!;
          firstMs = Math.min(firstMs, start);
          lastMs = Math.max(lastMs, start);
        }
      }
    }
    return { place, bytes, samples, span: samples === 0 ? undefined : { firstMs, lastMs } };
  });
  return { series: lists.map((list) => list.finish()), unproven, places };
}

/** Returns the half-open range of indexes of the grains that overlap a range. */
function grainsIn(starts: Float64Array, { fromMs, toMs }: TimeRange, grainMs: number): [number, number] {
  return [firstFrom(starts, grainStartMs(fromMs, grainMs)), firstFrom(starts, toMs)];
}

/** Adds the days on which a series has a grain in the range without an exact point. */
function addUnproven(
  unproven: Set<number>,
  { times, columns }: ReadGrains,
  range: TimeRange,
  { grainMs, use, isWidened }: AskedGrains,
): void {
  const { starts, counts, firsts, inexact } = times;
  const needsFirst = !isWidened && (use === 'first' || use === 'difference' || use === 'increase');
  const needsResets = !isWidened && use === 'increase';
  const [from, to] = grainsIn(starts, range, grainMs);
  for (let grain = from; grain < to; grain++) {
    const start = starts[grain]!;
    // The last window ends where this grain starts, so it has only a sample at the grain's very start.
    const isOnlyStart = start + 1 >= range.toMs;
    if (isOnlyStart && firsts[grain]! > 0) continue;
    const fallsOften = Number.isNaN(columns.resets?.[grain] ?? 0);
    const isSplit = firsts[grain] === 0 && counts[grain]! > 1;
    const lacksFirst = isSplit && (fallsOften || Number.isNaN(columns.toRest?.[grain] ?? 0));
    const isUnknown = !isOnlyStart && ((needsFirst && lacksFirst) || (needsResets && fallsOften));
    if (inexact[grain] === 1 || isUnknown) unproven.add(grainStartMs(start, DAY_MS));
  }
}

/** Adds the points of a grain that are in a range. */
function addPoints(
  list: PointList,
  grains: ReadGrains,
  grain: number,
  range: TimeRange,
  { grainMs, use, isWidened }: AskedGrains,
): void {
  const { times, columns } = grains;
  const start = times.starts[grain]!;
  const isSplit = !isWidened && times.firsts[grain] === 0;
  const restCount = times.counts[grain]! - (isSplit ? 1 : 0);
  const add = (ms: number, value: number, count: number, resets = 0) => {
    if (ms >= range.fromMs && ms < range.toMs) list.add(ms, value, count, resets);
  };
  if (isSplit) add(start, use === 'count' ? 1 : columns.first![grain]!, 1);
  if (restCount === 0) return;
  const firstMs = start + (isSplit ? times.restFirsts[grain]! : times.firsts[grain]!);
  const lastMs = start + grainMs - times.lasts[grain]!;
  if (use === 'first') add(firstMs, restFirst(columns, grain, isSplit), restCount);
  else if (use === 'difference' || use === 'increase') {
    add(firstMs, restFirst(columns, grain, isSplit), 1);
    if (restCount > 1) add(lastMs, columns.last![grain]!, restCount - 1, restResets(columns, grain, isSplit));
  } else add(lastMs, use === 'count' ? restCount : REST[use](columns, grain, isSplit), restCount);
}

type Columns = ReadGrains['columns'];

/** Return an aggregate of a grain's rest, or of the whole grain if it is not split. */
const REST = {
  sum: ({ sum, first }: Columns, grain: number, isSplit: boolean) =>
    isSplit ? sum![grain]! - first![grain]! : sum![grain]!,
  min: ({ min, first, restMin, resets, toRest }: Columns, grain: number, isSplit: boolean) => {
    const least = min![grain]!;
    if (!isSplit) return least;
    const stored = restMin?.[grain] ?? Number.NaN;
    if (!Number.isNaN(stored)) return stored;
    return derivedRestMin(least, first![grain]!, resets?.[grain] ?? 0, toRest?.[grain] ?? 0);
  },
  max: ({ max, restMax }: Columns, grain: number, isSplit: boolean) => {
    const stored = isSplit ? (restMax?.[grain] ?? Number.NaN) : Number.NaN;
    return Number.isNaN(stored) ? max![grain]! : stored;
  },
  last: ({ last }: Columns, grain: number) => last![grain]!,
};

function restFirst({ first, toRest }: Columns, grain: number, isSplit: boolean): number {
  return first![grain]! + (isSplit ? (toRest?.[grain] ?? 0) : 0);
}

/** Returns the resets among the samples after the first one of a grain's rest. */
function restResets(columns: Columns, grain: number, isSplit: boolean): number {
  const resets = columns.resets?.[grain] ?? 0;
  if (Number.isNaN(resets)) return 0;
  // A fall from the sample at the grain's start belongs to the rest's first sample.
  const start = columns.first![grain]!;
  return isSplit && restFirst(columns, grain, true) < start ? resets - start : resets;
}

/** Points that are being collected. */
class PointList {
  private points = emptyPoints(0);
  private length = 0;
  private isAscending = true;

  add(ms: number, value: number, count: number, resets: number): void {
    if (this.length === this.points.timestamps.length) this.grow();
    const { points, length } = this;
    if (length > 0 && points.timestamps[length - 1]! >= ms) this.isAscending = false;
    points.timestamps[length] = ms;
    points.values[length] = value;
    points.counts[length] = count;
    points.resets[length] = resets;
    this.length++;
  }

  /** A series that changed its group has grains in two of them, in any order. */
  finish(): Points {
    const { length } = this;
    const { timestamps } = this.points;
    if (this.isAscending) return mapPoints(this.points, (column) => column.slice(0, length));
    const order = Array.from({ length }, (_, i) => i).sort((a, b) => timestamps[a]! - timestamps[b]!);
    return mapPoints(this.points, (column) => Float64Array.from(order, (i) => column[i]!));
  }

  private grow(): void {
    const larger = emptyPoints(Math.max(256, 2 * this.length));
    for (const name of POINT_COLUMNS) larger[name].set(this.points[name]);
    this.points = larger;
  }
}

const POINT_COLUMNS = ['timestamps', 'values', 'counts', 'resets'] as const;

function emptyPoints(length: number): Points {
  return {
    timestamps: new Float64Array(length),
    values: new Float64Array(length),
    counts: new Float64Array(length),
    resets: new Float64Array(length),
  };
}

function mapPoints(points: Points, map: (column: Float64Array) => Float64Array): Points {
  return {
    timestamps: map(points.timestamps),
    values: map(points.values),
    counts: map(points.counts),
    resets: map(points.resets),
  };
}

/**
 * Joins the points of a series with its samples of other days.
 *
 * @param samples may have stale markers. They stay for the uses `last` and `first`, and go for all others
 */
export function withPoints(samples: SampleColumns, points: Points, use: RollupUse): SampleColumns {
  if (points.timestamps.length === 0) return samples;
  const arePlain = use === 'last' || use === 'first';
  const { labels, timestamps, values } = arePlain ? samples : withoutStale(samples);
  const own = {
    timestamps,
    values: use === 'count' ? new Float64Array(values.length).fill(1) : values,
    counts: new Float64Array(values.length).fill(1),
    resets: new Float64Array(values.length),
  };
  const joined = timestamps.length === 0 ? points : mergeInTime(own, points);
  return arePlain ? { labels, timestamps: joined.timestamps, values: joined.values } : { labels, ...joined };
}

/**
 * Merges two lists that have no time in common. Copies runs of values as bytes, so that stale markers keep their
 * bits.
 */
function mergeInTime(a: Points, b: Points): Points {
  const length = a.timestamps.length + b.timestamps.length;
  const merged = emptyPoints(length);
  let [from, i, j] = [a, 0, 0];
  let other = b;
  for (let at = 0; at < length; ) {
    const nextMs = other.timestamps[j] ?? Infinity;
    const end = firstFrom(from.timestamps, nextMs);
    for (const name of POINT_COLUMNS) merged[name].set(from[name].subarray(i, end), at);
    at += end - i;
    [from, other, i, j] = [other, from, j, end];
  }
  return merged;
}
