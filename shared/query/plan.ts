import { type Aggregate, storedGrainMs } from '../model/aggregates';
import { DAY_MS } from '../model/duration';
import { type Day, dayStartMs, daysIn, type PartitionRef, windowStartMs } from '../model/placement';
import type { RequestedGrains } from '../model/sample-columns';
import type { TimeRange } from '../model/selection';

/** A day of a range to read from the tiers beyond memory. */
export interface DayPlan {
  readonly day: Day;
  /** The partition that holds the source or pool on this day. */
  readonly ref: PartitionRef;
  /** Half-open range of window starts. Only windows that start in it may contain samples of the read's range. */
  readonly windowsFromMs: number;
  readonly windowsToMs: number;
}

/**
 * A read of at most this many days uses only samples. For so few days, hourly or daily rollups would not save enough to
 * be worth an additional request.
 */
export const FEW_DAYS = 3;

/**
 * Limits a range to times that may have samples. The result begins no earlier than the first UTC day of the retention,
 * and ends at most two days from now. (Post accepts samples up to a day ahead.)
 */
export function clampRange(range: TimeRange, nowMs: number, retentionMs: number): TimeRange {
  const latestMs = nowMs + 2 * DAY_MS;
  // Keep the whole first day: a daily rollup cannot answer for a part of its day.
  const firstMs = Math.floor((nowMs - retentionMs) / DAY_MS) * DAY_MS;
  const fromMs = Math.min(Math.max(range.fromMs, firstMs), latestMs);
  return { fromMs, toMs: Math.max(fromMs, Math.min(range.toMs, latestMs)) };
}

/**
 * Lists the days of a range.
 *
 * @param windowLengthsMs lengths of the windows that may contain samples of the range; no window spans several days
 */
export function planDays(
  { fromMs, toMs }: TimeRange,
  windowLengthsMs: readonly number[],
  partitionOn: (day: Day) => PartitionRef,
): DayPlan[] {
  if (fromMs >= toMs) return [];
  const firstMs = Math.min(fromMs, ...windowLengthsMs.map((lengthMs) => windowStartMs(fromMs, lengthMs)));
  // Extend the range to the end of a window, so that the cached items can also serve a range that ends slightly later.
  const longestMs = Math.max(1, ...windowLengthsMs);
  const endMs = Math.ceil(toMs / longestMs) * longestMs;
  return daysIn(fromMs, toMs).map((day) => {
    const startMs = dayStartMs(day);
    return {
      day,
      ref: partitionOn(day),
      windowsFromMs: Math.max(startMs, firstMs),
      windowsToMs: Math.min(startMs + DAY_MS, endMs),
    };
  });
}

/** The range to read, and the length of the response's steps. `stepMs` is undefined when samples are shown as stored. */
export interface ShownRange {
  readonly range: TimeRange;
  readonly stepMs: number | undefined;
}

/**
 * Plans what to read for a request from `fromMs` to `toMs`. Both are whole seconds and inclusive.
 *
 * Every step that overlaps the range is read as a whole. As a result, the value of a step does not depend on the range,
 * and no sample of the range is omitted. As in Mackerel, the timestamp of a value is the start of its step,
 * `t - t % step`, so the first value may be up to a step before `fromMs`.
 *
 * @param stepMs the requested step; if undefined, the length of the range determines the step
 * @param isAggregated whether the result must be in steps
 */
export function planShown(
  { fromMs, toMs }: TimeRange,
  stepMs: number | undefined,
  isAggregated: boolean,
): ShownRange {
  const step = stepMs ?? stepFor({ fromMs, toMs });
  if (stepMs === undefined && step === FINEST_STEP_MS && !isAggregated)
    return { range: { fromMs, toMs: toMs + 1000 }, stepMs: undefined };
  const range = { fromMs: Math.floor(fromMs / step) * step, toMs: (Math.floor(toMs / step) + 1) * step };
  return { range, stepMs: step };
}

/** Returns the rollups that may answer a read in steps; undefined if the read needs samples. */
export function stepGrains(
  stepMs: number | undefined,
  aggregate: Aggregate = 'avg',
): RequestedGrains | undefined {
  const grainMs = stepMs === undefined ? undefined : storedGrainMs(stepMs);
  if (grainMs === undefined) return undefined;
  return { grainMs, use: aggregate === 'avg' ? 'sum' : aggregate, edges: 'steps' };
}

/** Divides a range of steps into two, each of whole steps; undefined if it has only one step. */
export function halveSteps(
  { fromMs, toMs }: TimeRange,
  stepMs: number,
): [earlier: TimeRange, later: TimeRange] | undefined {
  const middleMs = Math.round((fromMs + toMs) / 2 / stepMs) * stepMs;
  if (middleMs <= fromMs || middleMs >= toMs) return undefined;
  return [
    { fromMs, toMs: middleMs },
    { fromMs: middleMs, toMs },
  ];
}

const FINEST_STEP_MS = 60_000;

/**
 * Returns the step with which Mackerel shows a range.
 *
 * @returns ms; {@link FINEST_STEP_MS} for ranges of less than 20 h 05 m, for which samples are returned as
 *   stored
 * @see ../protocol/mackerel/README.md, "Reading"
 */
export function stepFor({ fromMs, toMs }: TimeRange): number {
  const rangeMs = toMs - fromMs;
  if (Math.floor(rangeMs / DAY_MS) > 240) return DAY_MS;
  if (Math.floor(rangeMs / 3_600_000) > 240) return 3_600_000;
  if (Math.floor(rangeMs / 300_000) > 240) return 300_000;
  return FINEST_STEP_MS;
}
