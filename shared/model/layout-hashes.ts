import { Cache } from './cache';
import { CACHES } from './cache-budgets';
import type { Id } from './id';
import { seriesHashes } from './layout-bytes';
import { bytesOfPacked, type PackedLayout } from './packed-layout';

/**
 * Hashes of layouts' series, by layout id. If the rows of a group have several layouts, each batch compares
 * the layouts' hashes. Without the cache, an ingester would unpack and hash the layouts each time.
 */
const hashesById = new Cache<Float64Array>(CACHES.layoutHashes, ({ byteLength }) => byteLength + 200);

/** Caches the {@link seriesHashes} of a layout, computed when its bytes were checked. */
export function noteHashes(id: Id, hashes: Float64Array): void {
  hashesById.set(id, hashes);
}

/** Returns the {@link seriesHashes} of a layout. */
export function hashesOfPacked(layout: Pick<PackedLayout, 'id' | 'packed'>): Float64Array {
  const cached = hashesById.get(layout.id);
  if (cached !== undefined) return cached;
  const hashes = seriesHashes(bytesOfPacked(layout));
  noteHashes(layout.id, hashes);
  return hashes;
}
