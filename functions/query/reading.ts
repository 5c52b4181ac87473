import { HttpError } from '../../shared/http/http';
import type { TimeRange } from '../../shared/model/selection';
import { clampRange } from '../../shared/query/plan';
import { TIERS } from '../../shared/query/read';
import type { Selected } from '../../shared/query/select';
import { spansOf } from '../../shared/query/spans';
import { retentionMs } from './stores';

/** Values of one answer: Lambda's have 6 MB at most. */
const MAX_VALUES = 100_000;
/** Samples of one answer, as stored and compressed: 32 MB of text, which is what compresses to 6 MB. */
const MAX_SAMPLES = 2_000_000;

/**
 * The range that a request asks for.
 *
 * @param query seconds since epoch, both inclusive
 * @returns ms
 * @throws {HttpError} 400 when it ends before it begins
 */
export function askedRange({ from, to }: { readonly from: number; readonly to: number }): TimeRange {
  if (from > to) throw new HttpError(400, `from ${from} is after to ${to}`);
  return { fromMs: from * 1000, toMs: to * 1000 };
}

/** The part of a range that retention leaves. */
export function readableRange(range: TimeRange): TimeRange {
  return clampRange(range, Date.now(), retentionMs);
}

/** @throws {HttpError} 400 when an answer would have too many values */
export function requireFewSteps(
  series: number,
  stepMs: number,
  { fromMs, toMs }: TimeRange,
  firstMs: number,
): void {
  const steps = (series * (toMs - Math.max(fromMs, firstMs))) / stepMs;
  if (steps > MAX_VALUES)
    throw new HttpError(
      400,
      `step: ${Math.ceil(steps)} steps of ${stepMs / 1000} s are more than ${MAX_VALUES}; ask for longer ones`,
    );
}

/**
 * Refuses samples as stored, before they are read, if their answer could not be sent: at one a minute, as agents post.
 *
 * @throws {HttpError} 400
 */
export function requireFewSamples(series: number, { fromMs, toMs }: TimeRange, firstMs: number): void {
  const minutes = Math.max(0, toMs - Math.max(fromMs, firstMs)) / 60_000;
  if (series * minutes > MAX_SAMPLES)
    throw new HttpError(
      400,
      `name: ${series} metrics over ${Math.ceil(minutes / 1440)} days are ${Math.ceil(series * minutes)} samples at one a minute, ` +
        `and at most ${MAX_SAMPLES} are sent as stored; ask with step=3600, for fewer names or for a shorter range`,
    );
}

/**
 * A `Server-Timing` header of reads one after the other: how long each tier took, how many samples it gave, and in `spans` the first and last times,
 * in seconds, between which they lie; then how many days rollups gave, and how long the governor let the reads wait, if any.
 *
 * @see https://www.w3.org/TR/server-timing/
 */
export function serverTiming(
  readings: readonly NonNullable<Selected['tiers']>[],
  { fromMs, toMs }: TimeRange,
  rolledDays = 0,
): string {
  const ofTiers = TIERS.map((tier) => {
    const each = readings.map((tiers) => tiers[tier]);
    const durationMs = each.reduce((sum, reading) => sum + reading.durationMs, 0);
    const samples = each.reduce((sum, reading) => sum + reading.samples, 0);
    const matched = each.flatMap(({ places }) =>
      places.flatMap(({ matched, span }) => (matched > 0 && span !== undefined ? [span] : [])),
    );
    const spans = spansOf(matched, toMs - fromMs)
      .map(({ firstMs, lastMs }) => `${Math.floor(firstMs / 1000)}-${Math.floor(lastMs / 1000)}`)
      .join(' ');
    return `${tier};dur=${durationMs.toFixed(1)};desc="${samples} samples";spans="${spans}"`;
  });
  const waitedMs = readings.reduce((sum, { hot }) => sum + (hot.waitedMs ?? 0), 0);
  return [
    ...ofTiers,
    ...(rolledDays === 0 ? [] : [`rollup;desc="${rolledDays} days"`]),
    ...(waitedMs === 0 ? [] : [`governor;dur=${waitedMs}`]),
  ].join(', ');
}
