import { Cache } from './cache';
import { CACHES } from './cache-budgets';
import type { Id } from './id';
import { decodedBytes, decodeLayout, type Layout } from './layout';
import { unpackLayout } from './packed-layout';

/** Decoded layouts of all tenants, by id. An id is the hash of a layout's bytes, so any copy is valid. */
const layouts = new Cache<Layout>(CACHES.layouts, decodedBytes);

/** Returns a layout from the cache; undefined if the cache lacks it. */
export function cachedLayout(id: Id): Layout | undefined {
  return layouts.get(id);
}

/**
 * Decodes a layout, unless it is in the cache.
 *
 * @param packed the layout's bytes, compressed with zstd
 */
export function openLayout(id: Id, packed: Uint8Array): Layout {
  const known = layouts.get(id);
  if (known !== undefined) return known;
  const layout = decodeLayout(unpackLayout(packed));
  layouts.set(id, layout);
  return layout;
}
