import type { TimeRange } from '../model/selection';
import { TIERS } from '../model/tier';
import { mergeExtents } from '../query/extents';
import type { Selected } from '../query/select';

/** The part of a read's result that a `Server-Timing` header shows. */
export type ReadPart = Pick<Selected, 'rolledDays' | 'tiers'>;

/**
 * Formats a `Server-Timing` header for consecutive reads. The header has:
 *
 * - for each tier, its duration, its number of samples, and in `spans` the time ranges of these samples, in seconds;
 * - the number of days from rollups;
 * - if the governor delayed the request's reads, the length of the delay.
 *
 * @param waitedMs how long the governor delayed the request's reads
 * @see https://www.w3.org/TR/server-timing/
 */
export function serverTiming(
  readings: readonly ReadPart[],
  { fromMs, toMs }: TimeRange,
  waitedMs: number,
): string {
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
  return [
    ...ofTiers,
    ...(rolledDays === 0 ? [] : [`rollup;desc="${rolledDays} days"`]),
    ...(waitedMs === 0 ? [] : [`governor;dur=${waitedMs}`]),
  ].join(', ');
}
