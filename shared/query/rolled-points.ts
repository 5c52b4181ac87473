/** Computes points from rollups: see {@link RollupUse}. */
import type { ReadGrains } from '../cold/rollup-format';
import { derivedRestMin, type GrainTimes, type RolledColumn } from '../cold/rollup-grains';
import type { ReadPlace, RolledObject } from '../cold/rollup-read';
import { DAY_MS } from '../model/duration';
import {
  firstFrom,
  grainStartMs,
  type RequestedGrains,
  type RollupUse,
  type SampleColumns,
} from '../model/sample-columns';
import type { TimeRange } from '../model/selection';
import { SharedTimes } from '../model/shared-times';

/** Points of a series, ascending. Series whose grains have the same times share `timestamps` and `counts`. */
export type Points = Omit<SampleColumns, 'labels'>;

/**
 * For each use of a rollup, the columns that it always needs, and the additional columns that it needs if a sample is
 * at the very start of a grain.
 */
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

/** Returns a function that selects which columns to read, given the times of a series' grains. */
export function columnsFor({ use, edges }: RequestedGrains): (times: GrainTimes) => readonly RolledColumn[] {
  const [always, atStart] = COLUMNS[use];
  const all = [...always, ...atStart];
  return ({ firsts }) => (edges === 'exact' && firsts.includes(0) ? all : always);
}

/** Points of several series, and the days for which no points can be computed. */
export interface RolledPoints {
  /** The points of each series, by the series' position. */
  readonly series: readonly Points[];
  /** Starts, in ms, of the days whose samples must be read instead. */
  readonly unproven: ReadonlySet<number>;
  readonly places: readonly ReadPlace[];
}

/**
 * Computes the points of all series. If one point of a day cannot be computed, no series gets points on that
 * day, and the samples of all series are read instead.
 *
 * @param seriesCount number of series that are read
 */
export function pointsOf(
  objects: readonly RolledObject[],
  requested: RequestedGrains,
  seriesCount: number,
): RolledPoints {
  const unproven = unprovenDays(objects, requested);
  const parts: Part[][] = Array.from({ length: seriesCount }, () => []);
  const places = objects.map(({ requested: { ranges }, grains, place, bytes }) => {
    const plans = new Map<GrainTimes, PointPlan>();
    let [samples, firstMs, lastMs] = [0, Infinity, -Infinity];
    for (const [position, { times, columns }] of grains) {
      let plan = plans.get(times);
      if (plan === undefined) {
        plan = planPoints(times, ranges, unproven, requested);
        plans.set(times, plan);
      }
      samples += plan.samples;
      firstMs = Math.min(firstMs, plan.firstMs);
      lastMs = Math.max(lastMs, plan.lastMs);
      if (plan.timestamps.length > 0) parts[position]!.push({ plan, columns });
    }
    return { place, bytes, samples, extent: samples === 0 ? undefined : { firstMs, lastMs } };
  });
  const shared = new SharedTimes();
  return { series: parts.map((own) => joinParts(own, requested.use, shared)), unproven, places };
}

/** Returns the indexes of the grains that overlap a range, as a half-open range. */
function grainsIn(starts: Float64Array, { fromMs, toMs }: TimeRange, grainMs: number): [number, number] {
  return [firstFrom(starts, grainStartMs(fromMs, grainMs)), firstFrom(starts, toMs)];
}

/** The uses that need the first sample of each range among their points. */
const HAS_FIRST: ReadonlySet<RollupUse> = new Set(['first', 'difference', 'increase']);

/** Returns the starts of the days that must be read as samples because some grain cannot give an exact point. */
function unprovenDays(
  objects: readonly RolledObject[],
  { use, edges, grainMs }: RequestedGrains,
): Set<number> {
  const unproven = new Set<number>();
  if (edges === 'steps') return unproven;
  for (const { requested, grains } of objects) {
    const checked = new Set<GrainTimes>();
    for (const [, { times, columns }] of grains) {
      const mayLackValues =
        edges === 'exact' &&
        HAS_FIRST.has(use) &&
        (columns.resets !== undefined || columns.toRest !== undefined);
      if (checked.has(times) && !mayLackValues) continue;
      checked.add(times);
      const { starts, firsts, inexact } = times;
      for (const range of requested.ranges) {
        const [from, to] = grainsIn(starts, range, grainMs);
        for (let grain = from; grain < to; grain++) {
          const start = starts[grain]!;
          // The last range ends where this grain starts, so it contains at most one sample of the grain: the one at
          // the very start.
          const isOnlyStart = start + 1 >= range.toMs;
          if (isOnlyStart && firsts[grain]! > 0) continue;
          const lacks = mayLackValues && !isOnlyStart && lacksValues(times, columns, grain, use);
          if (inexact[grain] === 1 || lacks) unproven.add(grainStartMs(start, DAY_MS));
        }
      }
    }
  }
  return unproven;
}

/**
 * Whether a grain lacks a value that a use in {@link HAS_FIRST} needs for its points. A missing value is stored as NaN.
 */
function lacksValues(
  { counts, firsts }: GrainTimes,
  { resets, toRest }: Columns,
  grain: number,
  use: RollupUse,
): boolean {
  const lacksResets = Number.isNaN(resets?.[grain] ?? 0);
  if (use === 'increase' && lacksResets) return true;
  // A sample at the very start gets a point of its own, so the first sample of the rest must be known too.
  const hasStartAndRest = firsts[grain] === 0 && counts[grain]! > 1;
  return hasStartAndRest && (lacksResets || Number.isNaN(toRest?.[grain] ?? 0));
}

/**
 * Kinds of points. The name of a kind says which sample of the grain determines the point's time. A sample at the very
 * start of a grain gets a point of its own. The grain's other samples are its rest, and get one or two points. If no
 * sample is at the start, the rest is the whole grain.
 */
const START = 0;
const FIRST = 1;
const SECOND = 2;
const LAST = 3;
const LAST_AFTER_START = 4;

/**
 * The points to compute from grains, but not yet their values. All series whose grains have the same times share a
 * plan.
 */
interface PointPlan {
  readonly timestamps: Float64Array;
  readonly counts: Float64Array;
  /** For each point, the index of its grain. */
  readonly grains: Uint32Array;
  /** See {@link START}. */
  readonly kinds: Uint8Array;
  /** Total number of samples in the grains. */
  readonly samples: number;
  /** Start of the first grain, in ms. */
  readonly firstMs: number;
  /** Start of the last grain, in ms. */
  readonly lastMs: number;
}

function planPoints(
  { starts, counts, firsts, restFirsts, lasts }: GrainTimes,
  ranges: readonly TimeRange[],
  unproven: ReadonlySet<number>,
  { grainMs, use, edges }: RequestedGrains,
): PointPlan {
  const hasFirst = HAS_FIRST.has(use);
  const cuts = ranges.map((range) => ({ range, grains: grainsIn(starts, range, grainMs) }));
  const most = 3 * cuts.reduce((sum, { grains: [from, to] }) => sum + to - from, 0);
  const points = {
    timestamps: new Float64Array(most),
    counts: new Float64Array(most),
    grains: new Uint32Array(most),
    kinds: new Uint8Array(most),
  };
  let [length, samples, firstMs, lastMs] = [0, 0, Infinity, -Infinity];
  for (const { range, grains } of cuts) {
    for (let [grain, to] = grains; grain < to; grain++) {
      const start = starts[grain]!;
      if (unproven.has(grainStartMs(start, DAY_MS))) continue;
      samples += counts[grain]!;
      firstMs = Math.min(firstMs, start);
      lastMs = start;
      const add = (ms: number, count: number, kind: number) => {
        if (ms < range.fromMs || ms >= range.toMs) return;
        points.timestamps[length] = ms;
        points.counts[length] = count;
        points.grains[length] = grain;
        points.kinds[length++] = kind;
      };
      if (edges === 'steps') {
        add(start, counts[grain]!, hasFirst ? FIRST : LAST);
        continue;
      }
      const hasStart = edges === 'exact' && firsts[grain] === 0;
      if (hasStart) add(start, 1, START);
      const rest = counts[grain]! - (hasStart ? 1 : 0);
      if (rest === 0) continue;
      const hasLast = use !== 'first' && (rest > 1 || !hasFirst);
      const restFirstMs = start + (hasStart ? restFirsts[grain]! : firsts[grain]!);
      if (hasFirst) add(restFirstMs, hasLast ? 1 : rest, hasStart ? SECOND : FIRST);
      if (hasLast)
        add(start + grainMs - lasts[grain]!, hasFirst ? rest - 1 : rest, hasStart ? LAST_AFTER_START : LAST);
    }
  }
  return {
    timestamps: points.timestamps.slice(0, length),
    counts: points.counts.slice(0, length),
    grains: points.grains.slice(0, length),
    kinds: points.kinds.slice(0, length),
    samples,
    firstMs,
    lastMs,
  };
}

type Columns = ReadGrains['columns'];

/** The points of a series from one object and group. */
interface Part {
  readonly plan: PointPlan;
  readonly columns: Columns;
}

/** Joins the points of a series. A series that moved to another group has parts from two groups, in any order. */
function joinParts(parts: readonly Part[], use: RollupUse, shared: SharedTimes): Points {
  const timestamps = shared.join(parts.map(({ plan }) => plan.timestamps));
  const counts = shared.join(parts.map(({ plan }) => plan.counts));
  const points: Points = {
    timestamps,
    values: use === 'count' ? counts : joinValues(parts, timestamps.length, LAST_OF[use]),
    ...(!areSamples(use) && { counts }),
    ...(use === 'increase' &&
      parts.some(({ columns }) => columns.resets !== undefined) && {
        resets: joinResets(parts, timestamps.length),
      }),
  };
  const areAscending = parts.every(
    ({ plan }, i) => i === 0 || parts[i - 1]!.plan.timestamps.at(-1)! < plan.timestamps[0]!,
  );
  if (areAscending) return points;
  const order = Array.from(timestamps, (_, i) => i).sort((a, b) => timestamps[a]! - timestamps[b]!);
  return mapPoints(points, (column) => Float64Array.from(order, (i) => column[i]!));
}

/** Whether the points of a use are samples themselves. If so, they need no counts of the samples that they replace. */
function areSamples(use: RollupUse): boolean {
  return use === 'first' || use === 'last';
}

type LastOf = (columns: Columns, grain: number, hasStart: boolean) => number;

function joinValues(parts: readonly Part[], length: number, lastOf: LastOf): Float64Array {
  const values = new Float64Array(length);
  let at = 0;
  for (const { plan, columns } of parts) {
    const { grains, kinds } = plan;
    for (let i = 0; i < grains.length; i++) {
      const [grain, kind] = [grains[i]!, kinds[i]!];
      if (kind === START || kind === FIRST) values[at++] = columns.first![grain]!;
      else if (kind === SECOND) values[at++] = secondOf(columns, grain);
      else values[at++] = lastOf(columns, grain, kind === LAST_AFTER_START);
    }
  }
  return values;
}

function joinResets(parts: readonly Part[], length: number): Float64Array {
  const resets = new Float64Array(length);
  let at = 0;
  for (const { plan, columns } of parts) {
    const { grains, kinds } = plan;
    for (let i = 0; i < grains.length; i++, at++)
      if (kinds[i]! >= LAST) resets[at] = restResets(columns, grains[i]!, kinds[i] === LAST_AFTER_START);
  }
  return resets;
}

const lastValue: LastOf = ({ last }, grain) => last![grain]!;

/**
 * For each use, a function that returns the value of a point for the rest of a grain: all samples of the grain except
 * one at its very start. If no sample is at the start, the rest is the whole grain.
 */
const LAST_OF: Readonly<Record<Exclude<RollupUse, 'count'>, LastOf>> = {
  first: lastValue,
  last: lastValue,
  difference: lastValue,
  increase: lastValue,
  sum: ({ sum, first }, grain, hasStart) => (hasStart ? sum![grain]! - first![grain]! : sum![grain]!),
  min: ({ min, first, restMin, resets, toRest }, grain, hasStart) => {
    const least = min![grain]!;
    if (!hasStart) return least;
    const stored = restMin?.[grain] ?? Number.NaN;
    if (!Number.isNaN(stored)) return stored;
    return derivedRestMin(least, first![grain]!, resets?.[grain] ?? 0, toRest?.[grain] ?? 0);
  },
  max: ({ max, restMax }, grain, hasStart) => {
    const stored = hasStart ? (restMax?.[grain] ?? Number.NaN) : Number.NaN;
    return Number.isNaN(stored) ? max![grain]! : stored;
  },
};

/** Returns the value of the second sample of a grain that has a sample at its very start. */
function secondOf({ first, toRest }: Columns, grain: number): number {
  return first![grain]! + (toRest?.[grain] ?? 0);
}

/**
 * Returns the sum of a counter's resets after the first sample of a grain's rest. A reset counts as the counter's value
 * just before it fell.
 */
function restResets(columns: Columns, grain: number, hasStart: boolean): number {
  const resets = columns.resets?.[grain] ?? 0;
  if (Number.isNaN(resets)) return 0;
  // If the counter fell between the sample at the grain's start and the next one, leave that reset out: it is not after
  // the rest's first sample.
  const start = columns.first![grain]!;
  return hasStart && secondOf(columns, grain) < start ? resets - start : resets;
}

function mapPoints(
  { timestamps, values, counts, resets }: Points,
  map: (column: Float64Array) => Float64Array,
) {
  return {
    timestamps: map(timestamps),
    values: map(values),
    ...(counts && { counts: map(counts) }),
    ...(resets && { resets: map(resets) }),
  };
}
