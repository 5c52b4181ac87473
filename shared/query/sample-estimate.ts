import { type Block, sampleCount } from '../codec';
import { isRequested } from '../cold/archive-format';
import { countListed } from '../cold/parquet-reader';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { pickOf } from '../model/layout-block';
import type { Selection } from '../model/selection';
import type { Requests } from './round-plan';

/**
 * Estimates how many samples a round will read from the archive. The estimate needs no request, because the archive's
 * directory has been read and lists the times of each series. Days that the directory does not list, and layouts that
 * are not known yet, count as 0. A grain of a rollup counts as one sample, even if the series has no sample in the
 * grain.
 *
 * @param grainMs length of the rollups' grains
 */
export function estimateSamples(
  { samples, rollups = [] }: Pick<Requests, 'samples' | 'rollups'>,
  selection: Selection,
  grainMs: number,
): number {
  const { wanted, range } = selection;
  const columns = new Map<Id, Iterable<number>>();
  let count = 0;
  for (const { day, key } of samples?.days ?? []) {
    const entry = samples!.directory.get(day);
    if (entry?.key !== key) continue;
    for (const listed of entry.chunks) {
      const { chunk } = listed;
      if (!isRequested(chunk, selection)) continue;
      if (!columns.has(chunk.layout)) columns.set(chunk.layout, columnsOf(chunk.layout, selection));
      count += countListed(listed, columns.get(chunk.layout)!, range);
    }
  }
  const days = rollups.reduce((sum, each) => sum + each.days, 0);
  return Math.round(count + (days * DAY_MS * wanted.series.length) / grainMs);
}

/** Returns the wanted columns of a layout; none if the layout is not known yet. */
function columnsOf(id: Id, { wanted, layouts, picks }: Selection): Iterable<number> {
  const pick = picks?.get(id);
  if (pick !== undefined) return pick.columns;
  const layout = layouts.get(id);
  return layout === undefined ? [] : pickOf(layout, wanted).columns;
}

/**
 * Returns a lower bound on the number of samples after blocks are merged. If blocks overlap in time, they may hold the
 * same samples, so only the largest block counts.
 */
export function leastSamples(blocks: readonly Block[]): number {
  const inOrder = blocks
    .filter(({ timestamps }) => timestamps.length > 0)
    .sort((a, b) => a.timestamps[0]! - b.timestamps[0]!);
  const areApart = inOrder.every(
    (block, i) => i === 0 || block.timestamps[0]! > inOrder[i - 1]!.timestamps.at(-1)!,
  );
  const counts = inOrder.map(sampleCount);
  return areApart ? counts.reduce((sum, count) => sum + count, 0) : Math.max(...counts);
}
