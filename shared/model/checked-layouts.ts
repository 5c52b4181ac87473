import { Cache } from './cache';
import { CACHES } from './cache-budgets';
import type { Id } from './id';
import { seriesHashes } from './layout-bytes';
import { bytesOfPacked, type PackedLayout, withoutBytes } from './packed-layout';

/** A layout, and the {@link seriesHashes} of its bytes. */
interface CheckedLayout {
  readonly layout: PackedLayout;
  readonly hashes: Float64Array;
}

/**
 * Caches layouts whose bytes were checked, by id. Most records have the same layouts as the records of the previous
 * minute, so these layouts need not be checked again. The hashes are cached too: if a group's rows have several
 * layouts, each batch compares the hashes of these layouts.
 */
const checkedLayouts = new Cache<CheckedLayout>(
  CACHES.checkedLayouts,
  ({ layout, hashes }) => layout.packed.length + hashes.byteLength + 550,
);

/** Returns a layout whose bytes were checked before; undefined if it is not in the cache. */
export function checkedLayout(id: Id): PackedLayout | undefined {
  return checkedLayouts.get(id)?.layout;
}

/**
 * Remembers a layout whose bytes were checked.
 *
 * @param hashes the {@link seriesHashes} of its bytes
 */
export function noteChecked(layout: PackedLayout, hashes: Float64Array): void {
  checkedLayouts.set(layout.id, { layout: withoutBytes(layout), hashes });
}

/** Returns the {@link seriesHashes} of a layout that this instance has checked or made. */
export function hashesOfChecked(layout: PackedLayout): Float64Array {
  const cached = checkedLayouts.get(layout.id);
  if (cached !== undefined) return cached.hashes;
  const hashes = seriesHashes(bytesOfPacked(layout));
  noteChecked(layout, hashes);
  return hashes;
}
