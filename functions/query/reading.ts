import { HttpError } from '../../shared/http/http';
import type { Aggregate, Samples } from '../../shared/model/aggregates';
import type { TimeRange } from '../../shared/model/selection';
import { TIERS } from '../../shared/model/tier';
import { mergeExtents } from '../../shared/query/extents';
import { DEFAULT_LIMITS } from '../../shared/query/find-series';
import { clampRange, stepGrains } from '../../shared/query/plan';
import { sampleColumnsOf } from '../../shared/query/point-joiner';
import { ReadBudget } from '../../shared/query/read-budget';
import { readInSlices } from '../../shared/query/read-in-slices';
import { readSeries, type SeriesToRead } from '../../shared/query/read-series';
import type { Selected } from '../../shared/query/select';
import { MAX_RESPONSE_SAMPLES } from '../../shared/query/series-table';
import type { Tenant } from '../../shared/tenancy/tenants';
import { dependencies, governor, retentionMs } from './stores';

/** Maximum number of values in a response. Lambda limits responses to 6 MB. */
const MAX_VALUES = 100_000;

/**
 * Parses the requested range.
 *
 * @param query Unix time in seconds, both inclusive
 * @returns ms
 * @throws {HttpError} 400 when the range ends before it begins
 */
export function requestedRange({ from, to }: { readonly from: number; readonly to: number }): TimeRange {
  if (from > to) throw new HttpError(400, `from ${from} is after to ${to}`);
  return { fromMs: from * 1000, toMs: to * 1000 };
}

/** Limits a range to the retention. */
export function readableRange(range: TimeRange): TimeRange {
  return clampRange(range, Date.now(), retentionMs);
}

/** Limits the number of values in a response. @throws {HttpError} 400 when there are too many */
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
      `step: ${Math.ceil(steps)} steps of ${stepMs / 1000} s are more than ${MAX_VALUES}; use a longer step`,
    );
}

/**
 * Rejects a request for samples as stored if the response would be too large. The check precedes the read, so it assumes
 * one sample a minute.
 *
 * @throws {HttpError} 400
 */
export function requireFewSamples(series: number, { fromMs, toMs }: TimeRange, firstMs: number): void {
  const minutes = Math.max(0, toMs - Math.max(fromMs, firstMs)) / 60_000;
  if (series * minutes > MAX_RESPONSE_SAMPLES)
    throw new HttpError(
      400,
      `name: ${series} metrics over ${Math.ceil(minutes / 1440)} days are ${Math.ceil(series * minutes)} samples at one a minute, ` +
        `and at most ${MAX_RESPONSE_SAMPLES} can be read as stored; set step=3600, or ask for fewer names or a shorter range`,
    );
}

/** Limits the number of samples of one metric, before the response is written. @throws {HttpError} 400 */
export function requireSendable(samples: number): void {
  if (samples > MAX_RESPONSE_SAMPLES)
    throw new HttpError(
      400,
      `from, to: the metric has ${samples} samples in this range, and at most ${MAX_RESPONSE_SAMPLES} can be read as stored; set step, or ask for a shorter range`,
    );
}

/** The part of a read's result that a `Server-Timing` header shows. */
export type ReadPart = Pick<Selected, 'rolledDays' | 'tiers'>;

/**
 * Formats a `Server-Timing` header for consecutive reads. The header has:
 *
 * - for each tier, its duration, its number of samples, and in `spans` the time ranges of these samples, in seconds;
 * - the number of days from rollups;
 * - if the governor delayed the request's reads, the length of the delay.
 *
 * @see https://www.w3.org/TR/server-timing/
 */
export function serverTiming(readings: readonly ReadPart[], { fromMs, toMs }: TimeRange): string {
  const ofTiers = TIERS.map((tier) => {
    const each = readings.map(({ tiers }) => tiers[tier]);
    const durationMs = each.reduce((sum, reading) => sum + reading.durationMs, 0);
    const samples = each.reduce((sum, reading) => sum + reading.samples, 0);
    const matched = each.flatMap(({ places }) =>
      places.flatMap(({ matched, extent }) => (matched > 0 && extent !== undefined ? [extent] : [])),
    );
    const extents = mergeExtents(matched, toMs - fromMs)
      .map(({ firstMs, lastMs }) => `${Math.floor(firstMs / 1000)}-${Math.floor(lastMs / 1000)}`)
      .join(' ');
    return `${tier};dur=${durationMs.toFixed(1)};desc="${samples} samples";spans="${extents}"`;
  });
  const rolledDays = readings.reduce((sum, reading) => sum + reading.rolledDays, 0);
  const { waitedMs } = governor;
  return [
    ...ofTiers,
    ...(rolledDays === 0 ? [] : [`rollup;desc="${rolledDays} days"`]),
    ...(waitedMs === 0 ? [] : [`governor;dur=${waitedMs}`]),
  ].join(', ');
}

/** A slice of a range, converted to the form that the response shows. */
export interface ShownSlice<Shown> extends ReadPart, Pick<Selected, 'missingSinceMs'> {
  readonly shown: Shown;
}

/**
 * Reads series of one source, in slices of the range that memory can hold.
 *
 * @param show converts a slice to the response's form. It receives the samples of each series, or points that replace
 *   them
 */
export function readShown<Shown>(
  tenant: Tenant,
  wanted: SeriesToRead,
  range: TimeRange,
  { stepMs, aggregate, partial }: ShownAs,
  show: (samples: readonly Samples[]) => Shown,
): Promise<ShownSlice<Shown>[]> {
  const grains = stepGrains(stepMs, aggregate);
  const read = async (slice: TimeRange, samples: number) => {
    const found = await readSeries(dependencies, tenant, wanted, slice, {
      allowsMissing: partial === 'true',
      grains,
      budget: new ReadBudget({ ...DEFAULT_LIMITS, samples }),
    });
    const { tiers, missingSinceMs, rolledDays } = found;
    return { shown: show(sampleColumnsOf(found, grains)), tiers, missingSinceMs, rolledDays };
  };
  return readInSlices(read, range, stepMs);
}

interface ShownAs {
  /** Length of the steps, ms; undefined if samples are read as stored. */
  readonly stepMs: number | undefined;
  readonly aggregate?: Aggregate | undefined;
  readonly partial?: 'true' | 'false' | undefined;
}
