import { DAY_MS } from '../model/duration';
import { type Day, dayStartMs, daysIn, windowStartMs } from '../model/placement';
import type { TimeRange } from '../model/selection';

/** A day of a range, for the tiers beyond memory. */
export interface DayPlan {
  readonly day: Day;
  /** The half-open range in which windows begin that may hold samples of the read's range. */
  readonly windowsFromMs: number;
  readonly windowsToMs: number;
}

/** A read of more days than this asks the manifest first which have data. */
export const MAX_UNPRUNED_DAYS = 3;

/** Cuts a range to what can exist: from the UTC day in which retention ends, and no further ahead than post accepts. */
export function clampRange(range: TimeRange, nowMs: number, retentionMs: number): TimeRange {
  const latestMs = nowMs + 2 * DAY_MS;
  // A whole day: its rollups would not give a part.
  const firstMs = Math.floor((nowMs - retentionMs) / DAY_MS) * DAY_MS;
  const fromMs = Math.min(Math.max(range.fromMs, firstMs), latestMs);
  return { fromMs, toMs: Math.max(fromMs, Math.min(range.toMs, latestMs)) };
}

/**
 * The days of a range.
 *
 * @param windowLengthsMs of the windows that may hold samples of the range; windows never span days
 */
export function planDays({ fromMs, toMs }: TimeRange, windowLengthsMs: readonly number[]): DayPlan[] {
  if (fromMs >= toMs) return [];
  const firstMs = Math.min(fromMs, ...windowLengthsMs.map((lengthMs) => windowStartMs(fromMs, lengthMs)));
  // The end of a window: what a reader keeps of the last one serves ranges that end a little later.
  const longestMs = Math.max(1, ...windowLengthsMs);
  const endMs = Math.ceil(toMs / longestMs) * longestMs;
  return daysIn(fromMs, toMs).map((day) => {
    const startMs = dayStartMs(day);
    return {
      day,
      windowsFromMs: Math.max(startMs, firstMs),
      windowsToMs: Math.min(startMs + DAY_MS, endMs),
    };
  });
}

/** The range to read, and the step at which to show it; undefined for samples as they are stored. */
export interface ShownRange {
  readonly range: TimeRange;
  readonly stepMs: number | undefined;
}

/**
 * Plans what to read for a request from `fromMs` to `toMs`, whole seconds, both inclusive.
 *
 * Every step that overlaps the range is shown, whole: a step's value is the same whatever the range, and no sample of the
 * range is left out. A value bears its step's start, `t - t % step`, as Mackerel's do; so the first may lie before `fromMs`, by
 * less than a step.
 *
 * @param stepMs as asked for; undefined: the length of the range decides
 * @param isAggregated whether there must be steps
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

/** Samples, at one a minute, that a read in steps holds at a time: some 200 MB with their copies. */
export const MAX_HELD_SAMPLES = 5_000_000;

/** Cuts a range of steps into ranges of whole steps, each small enough to be read at once. */
export function sliceSteps({ fromMs, toMs }: TimeRange, stepMs: number, series: number): TimeRange[] {
  const mostMs = (MAX_HELD_SAMPLES / Math.max(1, series)) * 60_000;
  const sliceMs = Math.max(1, Math.floor(mostMs / stepMs)) * stepMs;
  const slices: TimeRange[] = [];
  // Steps lie on multiples of their length; the first may be cut by retention.
  for (let startMs = fromMs; startMs < toMs; ) {
    const endMs = Math.min(toMs, Math.floor(startMs / stepMs) * stepMs + sliceMs);
    slices.push({ fromMs: startMs, toMs: endMs });
    startMs = endMs;
  }
  return slices.length === 0 ? [{ fromMs, toMs }] : slices;
}

const FINEST_STEP_MS = 60_000;

/**
 * The step at which Mackerel shows a range.
 *
 * @returns ms; {@link FINEST_STEP_MS} up to 20 h 05 m, for which samples are returned as stored
 * @see ../protocol/mackerel/README.md, "Reading"
 */
export function stepFor({ fromMs, toMs }: TimeRange): number {
  const spanMs = toMs - fromMs;
  if (Math.floor(spanMs / DAY_MS) > 240) return DAY_MS;
  if (Math.floor(spanMs / 3_600_000) > 240) return 3_600_000;
  if (Math.floor(spanMs / 300_000) > 240) return 300_000;
  return FINEST_STEP_MS;
}
