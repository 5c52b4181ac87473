import { Cache } from './cache';
import { CACHES } from './cache-budgets';
import type { Id } from './id';
import { decodedBytes, decodeLayout, type Layout } from './layout';
import { bytesOfPacked } from './packed-layout';

/** Layouts by id, whosever they are: an id is the hash of a layout's bytes, so that a copy is as good as any. */
const layouts = new Cache<Layout>(CACHES.layouts, decodedBytes);

/** A layout that this instance has decoded lately. */
export function knownLayout(id: Id): Layout | undefined {
  return layouts.get(id);
}

/** Decodes a layout, unless it is known. @param packed zstd of its bytes */
export function openLayout(id: Id, packed: Uint8Array): Layout {
  const known = layouts.get(id);
  if (known !== undefined) return known;
  const layout = decodeLayout(bytesOfPacked({ id, packed }));
  layouts.set(id, layout);
  return layout;
}
