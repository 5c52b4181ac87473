import { isAsked } from '../cold/archive-format';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import type { Selection } from '../model/selection';
import type { Asks } from './beyond-memory';

/**
 * Estimates how many samples a round will read from the archive, without a request. The archive's directory lists the number of samples in
 * each chunk; the estimate takes the share of the chunk's series and time that the round wants. A grain of a rollup counts as one sample.
 * Days that the directory does not list count as 0.
 *
 * @param grainMs length of the rollups' grains
 */
export function estimateSamples(
  { samples, rollups = [] }: Pick<Asks, 'samples' | 'rollups'>,
  selection: Selection,
  grainMs: number,
): number {
  const { wanted, range } = selection;
  const shares = new Map<Id, number>();
  let estimate = 0;
  for (const { day, key } of samples?.days ?? []) {
    const entry = samples!.directory.get(day);
    if (entry?.key !== key) continue;
    for (const { chunk } of entry.chunks) {
      if (!isAsked(chunk, selection)) continue;
      if (!shares.has(chunk.layout)) shares.set(chunk.layout, shareOf(chunk.layout, selection));
      const endMs = chunk.maxTimestamp + 1;
      const wantedMs = Math.min(endMs, range.toMs) - Math.max(chunk.minTimestamp, range.fromMs);
      estimate += (chunk.samples * shares.get(chunk.layout)! * wantedMs) / (endMs - chunk.minTimestamp);
    }
  }
  const days = rollups.reduce((sum, each) => sum + each.days, 0);
  return Math.round(estimate + (days * DAY_MS * wanted.series.length) / grainMs);
}

/** Returns the share of a layout's series that are wanted, 0 to 1. */
function shareOf(id: Id, { wanted, layouts, places }: Selection): number {
  const place = places?.get(id);
  if (place !== undefined) return place.columns.length / place.seriesCount;
  const layout = layouts.get(id);
  if (layout === undefined) return 0;
  let count = 0;
  for (const key of layout.columns.keys()) if (wanted.columns.has(key)) count++;
  return count / layout.columns.size;
}
