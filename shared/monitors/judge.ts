import type { AlertStatus } from './alert-record';
import type { JudgedSamples } from './percent-metrics';

/** Status of one subject of a monitor: a host, a service's metric or a series. */
export interface Judgement {
  readonly status: AlertStatus;
  /**
   * The newest sample that was judged, as Unix time in ms. Absent if the judgement applies to the time of the
   * evaluation, for example because samples are missing.
   */
  readonly sampleMs?: number;
  readonly value?: number;
  readonly message?: string;
}

export interface Thresholds {
  readonly operator?: '>' | '<' | null;
  readonly warning?: number | null;
  readonly critical?: number | null;
}

/** Maximum age of a series' newest sample, in ms. A series whose newest sample is older is not judged. */
export const MAX_SAMPLE_AGE_MS = 20 * 60_000;
/** Maximum age of the samples in an average, in ms. */
export const AVERAGE_RANGE_MS = 24 * 3_600_000;
/** Time without posts after which an agent counts as gone, in ms. */
export const GONE_MS = 10 * 60_000;

/** Returns the status of a value. A value equal to a threshold does not exceed it. */
export function statusOf(value: number, { operator, warning, critical }: Thresholds): AlertStatus {
  const exceeds = (threshold: number | null | undefined) =>
    threshold != null && (operator === '<' ? value < threshold : value > threshold);
  return exceeds(critical) ? 'CRITICAL' : exceeds(warning) ? 'WARNING' : 'OK';
}

/** Returns the samples after `afterMs` and up to `untilMs` whose values are not NaN. */
export function samplesWithin(
  { timestamps, values }: JudgedSamples,
  afterMs: number,
  untilMs: number,
): JudgedSamples {
  const kept: number[] = [];
  for (let i = 0; i < timestamps.length; i++)
    if (timestamps[i]! > afterMs && timestamps[i]! <= untilMs && !Number.isNaN(values[i])) kept.push(i);
  return {
    timestamps: Float64Array.from(kept, (i) => timestamps[i]!),
    values: Float64Array.from(kept, (i) => values[i]!),
  };
}

/**
 * Returns the average of the latest `duration` samples. (`duration` is a number of samples, not of minutes.)
 *
 * @returns undefined when the newest sample is too old, or there are too few samples within 24 hours
 */
export function latestAverage(
  samples: JudgedSamples,
  duration: number,
  nowMs: number,
): { readonly sampleMs: number; readonly value: number } | undefined {
  const { timestamps, values } = samples;
  const latest: number[] = [];
  let sampleMs: number | undefined;
  for (let i = timestamps.length - 1; i >= 0 && latest.length < duration; i--) {
    if (timestamps[i]! <= nowMs - AVERAGE_RANGE_MS) break;
    if (timestamps[i]! > nowMs || Number.isNaN(values[i])) continue;
    sampleMs ??= timestamps[i]!;
    if (nowMs - sampleMs > MAX_SAMPLE_AGE_MS) return undefined;
    latest.push(values[i]!);
  }
  if (sampleMs === undefined || latest.length < duration) return undefined;
  return { sampleMs, value: latest.reduceRight((sum, value) => sum + value, 0) / duration };
}

/**
 * Judges the samples of a metric.
 *
 * @returns undefined when there are not enough recent samples
 */
export function judgeSamples(
  samples: JudgedSamples,
  { duration, ...thresholds }: Thresholds & { readonly duration: number },
  nowMs: number,
): Judgement | undefined {
  const latest = latestAverage(samples, duration, nowMs);
  return latest && { ...latest, status: statusOf(latest.value, thresholds) };
}

const BADNESS = { OK: 0, WARNING: 1, UNKNOWN: 2, CRITICAL: 3 } as const satisfies Record<AlertStatus, number>;

export function isWorse(status: AlertStatus, other: AlertStatus): boolean {
  return BADNESS[status] > BADNESS[other];
}

/** Returns the worst judgement; if several are equally bad, the first of them. */
export function worstOf(judgements: readonly Judgement[]): Judgement | undefined {
  return judgements.reduce<Judgement | undefined>(
    (worst, each) => (worst === undefined || isWorse(each.status, worst.status) ? each : worst),
    undefined,
  );
}

export interface MissingDurations {
  /** Time without samples after which a WARNING alert opens, in minutes. */
  readonly missingDurationWarning?: number | null;
  /** Time without samples after which a CRITICAL alert opens, in minutes. */
  readonly missingDurationCritical?: number | null;
}

/**
 * Judges whether samples are missing.
 *
 * @param newestMs time of the newest sample ever posted, as Unix time in ms
 * @returns undefined when samples have not been missing for long enough
 */
export function judgeMissing(
  newestMs: number,
  { missingDurationWarning: warning, missingDurationCritical: critical }: MissingDurations,
  nowMs: number,
): Judgement | undefined {
  const isMissing = (minutes: number | null | undefined) =>
    minutes != null && nowMs - newestMs >= minutes * 60_000;
  if (isMissing(critical)) return { status: 'CRITICAL', message: missingText(critical!) };
  if (isMissing(warning)) return { status: 'WARNING', message: missingText(warning!) };
  return undefined;
}

function missingText(minutes: number): string {
  return `no points for ${minutes} minutes or longer`;
}

/** Judges the result of an expression, which must be a single line. */
export function judgeLines(values: readonly number[], thresholds: Thresholds): Judgement {
  const [value] = values;
  if (values.length > 1)
    return { status: 'UNKNOWN', message: `the expression yields ${values.length} lines instead of one` };
  if (value === undefined || Number.isNaN(value))
    return { status: 'UNKNOWN', message: 'the expression yields no value' };
  return { status: statusOf(value, thresholds), value };
}
