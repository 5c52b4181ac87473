import { Cache } from './cache';
import { CACHES } from './cache-budgets';
import type { Id } from './id';
import { seriesHashes } from './layout-bytes';
import { bytesOfPacked, type PackedLayout } from './packed-layout';

/**
 * Hashes of layouts, by id. The rows of a group may have several layouts, whose hashes are then compared in each batch; without the
 * cache an ingester unpacks and hashes them each time.
 */
const hashesById = new Cache<Float64Array>(CACHES.layoutHashes, ({ byteLength }) => byteLength + 200);

/** Caches the {@link seriesHashes} of a layout, which a check of its bytes has computed. */
export function noteHashes(id: Id, hashes: Float64Array): void {
  hashesById.set(id, hashes);
}

/** The {@link seriesHashes} of a layout. */
export function hashesOfPacked(layout: Pick<PackedLayout, 'id' | 'packed'>): Float64Array {
  const cached = hashesById.get(layout.id);
  if (cached !== undefined) return cached;
  const hashes = seriesHashes(bytesOfPacked(layout));
  noteHashes(layout.id, hashes);
  return hashes;
}
