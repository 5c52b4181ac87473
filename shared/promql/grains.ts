/**
 * Aligned grains of time that replace samples where a query allows it (`max_source_resolution`). Each grain
 * becomes one point, at its last millisecond, and each window is widened to whole grains. A window that begins
 * and ends at grain boundaries therefore has exactly the samples from its start, inclusive, to its end,
 * exclusive.
 */
import { type Aggregate, type Grains, grainsIn, mergeGrains, type Samples } from '../model/aggregates';
import type { Labels } from '../model/labels';
import { SharedTimes } from '../model/shared-times';
import type { AskedGrains, SampleColumns } from './store';
import { type LiveSamples, WINDOW_FUNCTIONS, type Window, type WindowValue } from './window-functions';

/** A function of range vectors over grains. */
export interface GrainFunction {
  /** The aggregate that represents each grain. */
  readonly aggregate: Aggregate;
  /** A window with fewer grains than this has no value. */
  readonly least: 1 | 2;
  /** Number of grains before the window that the function also reads. */
  readonly before: 0 | 1;
  /** @param rangeMs length of the window in the query, before it is widened, in ms */
  readonly of: (grains: LiveSamples, grainMs: number, rangeMs: number) => WindowValue;
}

function same(name: string, aggregate: Aggregate): GrainFunction {
  return { aggregate, least: 1, before: 0, of: (grains) => WINDOW_FUNCTIONS[name]!.of(grains) };
}

function ofIncrease(isCounter: boolean, isRate: boolean): GrainFunction {
  return {
    aggregate: 'last',
    least: 2,
    before: 1,
    of: (grains, grainMs, rangeMs) => (from, to, window) => {
      const perSecond = (1000 * increaseIn(grains, from, to, window, grainMs, isCounter)) / widthOf(window);
      return isRate ? perSecond : (perSecond * rangeMs) / 1000;
    },
  };
}

/** The functions that can be computed from grains. Averages, sums, minima and maxima ignore grains that contain a NaN. */
export const GRAIN_FUNCTIONS: Readonly<Record<string, GrainFunction>> = {
  avg_over_time: {
    ...{ aggregate: 'avg', least: 1, before: 0 },
    of:
      ({ values, counts }) =>
      (from, to) => {
        let [sum, count] = [0, 0];
        for (let i = from; i < to; i++) {
          sum += values[i]!;
          count += counts![i]!;
        }
        return sum / count;
      },
  },
  count_over_time: { ...same('sum_over_time', 'count') },
  sum_over_time: same('sum_over_time', 'sum'),
  min_over_time: same('min_over_time', 'min'),
  max_over_time: same('max_over_time', 'max'),
  first_over_time: same('first_over_time', 'first'),
  last_over_time: same('last_over_time', 'last'),
  rate: ofIncrease(true, true),
  increase: ofIncrease(true, false),
  delta: ofIncrease(false, false),
};

/** The aggregate of each grain that a plain selector reads. */
export const GRAIN_OF_SELECTOR: Aggregate = 'last';

function widthOf({ startMs, endMs }: Window): number {
  return endMs - startMs;
}

/**
 * Returns the difference between the last values of a window's last grain and of the grain before its first
 * one. The result includes a counter's increase across resets between grains. Where grains are missing, it is
 * extrapolated by one grain at most.
 */
function increaseIn(
  { timestamps, values }: LiveSamples,
  from: number,
  to: number,
  window: Window,
  grainMs: number,
  isCounter: boolean,
): number {
  let increase = values[to - 1]! - values[from]!;
  if (isCounter)
    for (let i = from + 1; i < to; i++) if (values[i]! < values[i - 1]!) increase += values[i - 1]!;
  const coveredMs = timestamps[to - 1]! - timestamps[from]!;
  return (increase * Math.min(widthOf(window), coveredMs + grainMs)) / coveredMs;
}

export function grainStartMs(ms: number, grainMs: number): number {
  return Math.floor(ms / grainMs) * grainMs;
}

export function grainEndMs(ms: number, grainMs: number): number {
  return Math.ceil(ms / grainMs) * grainMs;
}

/**
 * Makes a function that returns a series' grains as points. Use one function for all series of an answer,
 * since most of them share their times.
 */
export function grainPoints({
  grainMs,
  aggregate,
}: AskedGrains): (labels: Labels, samples: Samples, rolled: Grains | undefined) => SampleColumns {
  const shared = new SharedTimes();
  const endsOf = new Map<ArrayLike<number>, Float64Array>();
  const hasNoNaN = aggregate === 'first' || aggregate === 'last' || aggregate === 'count';
  return (labels, samples, rolled) => {
    const own = grainsIn(samples, grainMs, aggregate, shared);
    const { starts, values, counts } =
      rolled === undefined ? own : mergeGrains(own, rolled, aggregate, shared);
    const ends = endsOf.get(starts) ?? Float64Array.from(starts, (ms) => ms + grainMs - 1);
    endsOf.set(starts, ends);
    const points = { labels, timestamps: ends, values: Float64Array.from(values) };
    const whole = aggregate === 'avg' ? { ...points, counts: Float64Array.from(counts) } : points;
    return hasNoNaN ? whole : withoutNaN(whole);
  };
}

function withoutNaN(points: SampleColumns): SampleColumns {
  const { values } = points;
  if (!values.some(Number.isNaN)) return points;
  const kept = (column: Float64Array) => column.filter((_, i) => !Number.isNaN(values[i]));
  return {
    labels: points.labels,
    timestamps: kept(points.timestamps),
    values: kept(values),
    ...(points.counts && { counts: kept(points.counts) }),
  };
}
