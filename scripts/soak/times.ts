import { DAY_MS } from '../../shared/model/duration';

/** Times of a soak's samples, and the midnight that the retention passes while it runs. */
export interface SoakTimes {
  /** Samples of earlier times disappear during the load: a UTC midnight, seconds since epoch. */
  readonly boundaryS: number;
  /** When they do, ms since epoch. */
  readonly expiresAtMs: number;
  readonly retentionMs: number;
}

const DAY_S = DAY_MS / 1000;
const HOUR_S = 3_600;

/** Days that the retention keeps before the day in which the soak runs: see the settings' bounds on `warmTtl`. */
const KEPT_DAYS = 33;
/** From now to the load, at most: imports of the last samples that expire must be over by then. */
const STARTING_MS = 20_000;

/** How far behind the clock late samples are, seconds. The setting `maxSampleAge` admits them. */
export const LAGS_S: readonly number[] = [
  HOUR_S,
  20 * HOUR_S,
  ...[2.3, 4.6, 7.9, 12.1, 17.4, 23.8].map((days) => Math.round(days * DAY_S)),
];
/** Days before today of samples that only an import brings: post refuses them as too old. */
const IMPORTED_DAYS = [26, 28, 31];
/** Ages of imported samples of the days that late ones lie in too, seconds before these. */
const BEFORE_LATE_S = [20, 1_900, 5_500];
/** The last seconds that disappear, which imports take until the load has begun, and the first that stay. */
const AROUND_BOUNDARY_S = [-20, -7, -1, 0, 1, 7_200];

/** Chooses a retention that ends with a midnight in the middle of the load. */
export function planTimes(nowMs: number, lengthMs: number): SoakTimes {
  const expiresAtMs = Math.round(nowMs + STARTING_MS + lengthMs / 2);
  const boundaryMs = (Math.floor(expiresAtMs / DAY_MS) - KEPT_DAYS) * DAY_MS;
  return { boundaryS: boundaryMs / 1000, expiresAtMs, retentionMs: expiresAtMs - boundaryMs };
}

/** Times of the samples that are imported before the load, ascending. */
export function historyOf({ boundaryS }: SoakTimes, startS: number): number[] {
  const midnightS = Math.floor(startS / DAY_S) * DAY_S;
  return [
    ...AROUND_BOUNDARY_S.map((second) => boundaryS + second),
    ...IMPORTED_DAYS.flatMap((days) => [0, 40, 3 * HOUR_S].map((s) => midnightS - days * DAY_S + s)),
    ...LAGS_S.flatMap((lagS) => BEFORE_LATE_S.map((s) => startS - lagS - s)),
  ].sort((a, b) => a - b);
}
