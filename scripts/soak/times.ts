import { DAY_MS } from '../../shared/model/duration';

/** Times of a soak's samples, and the midnight at which samples expire during the run. */
export interface SoakTimes {
  /** Samples before this UTC midnight disappear during the load, in s since epoch. */
  readonly boundaryS: number;
  /** When these samples disappear, in ms since epoch. */
  readonly expiresAtMs: number;
  readonly retentionMs: number;
}

const DAY_S = DAY_MS / 1000;
const HOUR_S = 3_600;

/** Days kept before the day of the soak; see the bounds of the setting `warmTtl`. */
const KEPT_DAYS = 33;
/**
 * Longest time from now to the load, in ms. Imports of the last expiring samples must be complete by then.
 */
const STARTING_MS = 20_000;

/** How far behind the clock late samples are, in s. The setting `maxSampleAge` accepts them. */
export const LAGS_S: readonly number[] = [
  HOUR_S,
  20 * HOUR_S,
  ...[2.3, 4.6, 7.9, 12.1, 17.4, 23.8].map((days) => Math.round(days * DAY_S)),
];
/** Days before today whose samples can only be imported, because post refuses them as too old. */
const IMPORTED_DAYS = [26, 28, 31];
/** On days with late samples, some samples are imported before them: by these times, in s. */
const BEFORE_LATE_S = [20, 1_900, 5_500];
/**
 * Times of imported samples relative to the boundary, in s. Samples before it expire during the load. The
 * last of them are imported until the load begins.
 */
const AROUND_BOUNDARY_S = [-20, -7, -1, 0, 1, 7_200];

/** Chooses a retention that passes a midnight in the middle of the load. */
export function planTimes(nowMs: number, lengthMs: number): SoakTimes {
  const expiresAtMs = Math.round(nowMs + STARTING_MS + lengthMs / 2);
  const boundaryMs = (Math.floor(expiresAtMs / DAY_MS) - KEPT_DAYS) * DAY_MS;
  return { boundaryS: boundaryMs / 1000, expiresAtMs, retentionMs: expiresAtMs - boundaryMs };
}

/** Returns the times of samples imported before the load, ascending. */
export function historyOf({ boundaryS }: SoakTimes, startS: number): number[] {
  const midnightS = Math.floor(startS / DAY_S) * DAY_S;
  return [
    ...AROUND_BOUNDARY_S.map((second) => boundaryS + second),
    ...IMPORTED_DAYS.flatMap((days) => [0, 40, 3 * HOUR_S].map((s) => midnightS - days * DAY_S + s)),
    ...LAGS_S.flatMap((lagS) => BEFORE_LATE_S.map((s) => startS - lagS - s)),
  ].sort((a, b) => a - b);
}
