import { Cache } from './cache';
import { CACHES } from './cache-budgets';
import type { Id } from './id';
import { seriesHashes } from './layout-bytes';
import { bytesOfPacked, type PackedLayout } from './packed-layout';

interface CheckedLayout {
  readonly layout: PackedLayout;
  readonly hashes: Float64Array;
}

/**
 * Layouts whose bytes were checked, with the hashes of their series, by id. Most records repeat the same few
 * layouts every minute. If the rows of a group have several layouts, each batch compares the layouts' hashes.
 */
const checkedLayouts = new Cache<CheckedLayout>(
  CACHES.checkedLayouts,
  ({ layout, hashes }) => layout.packed.length + hashes.byteLength + 550,
);

/** Returns a layout if its bytes were checked and are in the cache. */
export function checkedLayout(id: Id): PackedLayout | undefined {
  return checkedLayouts.get(id)?.layout;
}

/** @param hashes the {@link seriesHashes} of the layout, computed when its bytes were checked */
export function noteChecked(layout: PackedLayout, hashes: Float64Array): void {
  checkedLayouts.set(layout.id, { layout, hashes });
}

/** Returns the {@link seriesHashes} of a layout whose bytes were checked, or that this instance made. */
export function hashesOfChecked(layout: PackedLayout): Float64Array {
  const cached = checkedLayouts.get(layout.id);
  if (cached !== undefined) return cached.hashes;
  const hashes = seriesHashes(bytesOfPacked(layout));
  noteChecked(layout, hashes);
  return hashes;
}
