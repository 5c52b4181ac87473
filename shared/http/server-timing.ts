import type { TimeRange } from '../model/selection';
import { TIERS } from '../model/tier';
import { mergeExtents } from '../query/extents';
import type { ReadStats } from '../query/read';

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
  reads: readonly Pick<ReadStats, 'rollupDays' | 'tiers'>[],
  { fromMs, toMs }: TimeRange,
  waitedMs: number,
): string {
  const ofTiers = TIERS.map((tier) => {
    const each = reads.map(({ tiers }) => tiers[tier]);
    const durationMs = each.reduce((sum, stats) => sum + stats.durationMs, 0);
    const samples = each.reduce((sum, stats) => sum + stats.samples, 0);
    const matched = each.flatMap(({ places }) =>
      places.flatMap(({ matched, extent }) => (matched > 0 && extent !== undefined ? [extent] : [])),
    );
    const extents = mergeExtents(matched, toMs - fromMs)
      .map(({ firstMs, lastMs }) => `${Math.floor(firstMs / 1000)}-${Math.floor(lastMs / 1000)}`)
      .join(' ');
    return `${tier};dur=${durationMs.toFixed(1)};desc="${samples} samples";spans="${extents}"`;
  });
  const rollupDays = reads.reduce((sum, read) => sum + read.rollupDays, 0);
  return [
    ...ofTiers,
    ...(rollupDays === 0 ? [] : [`rollup;desc="${rollupDays} days"`]),
    ...(waitedMs === 0 ? [] : [`governor;dur=${waitedMs}`]),
  ].join(', ');
}
