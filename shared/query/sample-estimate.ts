import { isAsked } from '../cold/archive-format';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import type { Selection } from '../model/selection';
import type { Asks } from './beyond-memory';

/**
 * Estimates how many samples a round takes from the archive, without a request: the archive's directory lists how many each chunk has, and a
 * read takes its share of the chunk's series and time. Units of rollups count as samples. What the directory does not list counts nothing.
 *
 * @param unitMs length of the rollups' units
 */
export function estimateSamples(
  { samples, rollups = [] }: Pick<Asks, 'samples' | 'rollups'>,
  selection: Selection,
  unitMs: number,
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
  return Math.round(estimate + (days * DAY_MS * wanted.series.length) / unitMs);
}

/** How much of a layout's series are wanted, from 0 to 1. */
function shareOf(id: Id, { wanted, layouts, places }: Selection): number {
  const place = places?.get(id);
  if (place !== undefined) return place.columns.length / place.seriesCount;
  const layout = layouts.get(id);
  if (layout === undefined) return 0;
  let count = 0;
  for (const key of layout.columns.keys()) if (wanted.columns.has(key)) count++;
  return count / layout.columns.size;
}
