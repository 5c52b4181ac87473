import { type Block, cutBlock, encodeChunk, mergeBlocks, sampleCount } from '../codec';
import type { Id } from '../model/id';
import { type Layout, MAX_MERGED_BYTES, mergeLayouts } from '../model/layout';
import { type Day, dayOf } from '../model/placement';
import type { WarmItem } from '../warm/warm-item';
import { MAX_ITEM_CHUNK_BYTES, revisionOf } from '../warm/warm-tier';

/**
 * The decisions of a flush, without I/O; execute.ts reads and writes. A flush leases group-windows that are due, and
 * announces their days in the manifest, which opens the days. It takes the first frames of each window
 * ({@link planTake}), and picks the layer of the window that they go into ({@link planLayer}). It merges them with the
 * layer's warm items, and puts the items that changed ({@link planItems}). Then it announces the days again, and trims
 * exactly the frames that it took.
 *
 * A layer is a set of warm items of one window whose chunks have the same layout. Nearly every window has one layer. A
 * window has more layers if all its series together would exceed the bounds of a layout.
 */

/**
 * Maximum number of series in a chunk's layout. The flusher divides blocks by time, but never divides a
 * single row. So a row with values for all series must fit into an item; a row of 8,192 series fits.
 */
export const MAX_CHUNK_SERIES = 8_192;

/**
 * Maximum number of samples in an item. Very regular samples compress to less than a bit each, so the size of a chunk
 * does not bound the memory of its block. The codec refuses a block of more than 2^24 samples.
 */
const MAX_ITEM_SAMPLES = 2 ** 20;

/**
 * Returns the days to announce as open before the first put, and again after the last put. An archiver that reads
 * the day in between may miss some puts. The second announcement opens the day again after the archiver's commit
 * (DESIGN.md, rule 12).
 */
export function announcedDays(leases: readonly { readonly windowStart: number }[]): Day[] {
  return [...new Set(leases.map(({ windowStart }) => dayOf(windowStart)))];
}

/** The next step in moving the frames of a window. */
export type TakePlan =
  /** Read this layout, then plan again. */
  | { readonly act: 'read'; readonly layoutId: Id }
  /** Move the first `count` frames, whose layouts are `layouts`. The other frames stay due. */
  | { readonly act: 'take'; readonly count: number; readonly layouts: readonly Layout[] };

/**
 * Decides how many frames of a window move together. Their series must fit into one layout, so frames are taken until
 * the next frame's series would exceed the bounds of a layout. The leading frames that have the same layout as the
 * first frame are always taken.
 *
 * @param frames the layout id of each frame, in the order of the list in memory
 * @param known layouts read so far, by id
 */
export function planTake(frames: readonly Id[], known: ReadonlyMap<Id, Layout>): TakePlan {
  const taken = new Map<Id, Layout>();
  let bytes = 0;
  let series = 0;
  for (const [i, layoutId] of frames.entries()) {
    if (taken.has(layoutId)) continue;
    const layout = known.get(layoutId);
    if (layout === undefined) return { act: 'read', layoutId };
    bytes += layout.bytes.length;
    series += layout.series.length;
    if ((bytes > MAX_MERGED_BYTES || series > MAX_CHUNK_SERIES) && i > 0)
      return { act: 'take', count: i, layouts: [...taken.values()] };
    taken.set(layoutId, layout);
  }
  return { act: 'take', count: frames.length, layouts: [...taken.values()] };
}

/** A warm item of a window, and the layout of its chunk. */
export interface StoredItem extends Pick<WarmItem, 'layer' | 'startMs' | 'revision'> {
  readonly layout: Layout;
}

/** The layer that the frames of a window go into. */
export interface LayerPlan<Item> {
  /** Number of the layer, from 0. */
  readonly layer: number;
  /** The existing items of the layer; none for a new layer. */
  readonly merged: readonly Item[];
  /** Layout of all series in the frames and in `merged`. */
  readonly layout: Layout;
}

/**
 * Picks the layer for the frames of a window: the first layer whose layout still fits the bounds after it is
 * merged with the layouts of the frames. If no layer fits, picks a new layer.
 *
 * @param layouts the layouts of the frames
 * @param items all existing items of the window
 */
export function planLayer<Item extends Pick<StoredItem, 'layer' | 'layout'>>(
  layouts: readonly Layout[],
  items: readonly Item[],
): LayerPlan<Item> {
  for (let layer = 0; ; layer++) {
    const merged = items.filter((item) => item.layer === layer);
    const layout = mergeLayouts([...layouts, ...merged.map(({ layout }) => layout)]);
    const fits = layout.bytes.length <= MAX_MERGED_BYTES && layout.series.length <= MAX_CHUNK_SERIES;
    if (merged.length === 0 || fits) return { layer, merged, layout };
  }
}

export interface ItemPut {
  /** The item has the samples from this time, in ms, up to the start of the layer's next item. */
  readonly startMs: number;
  readonly chunk: Uint8Array;
  readonly revision: string;
  /** Revision of the item that this item replaces; undefined if no such item may exist yet. */
  readonly replaces: string | undefined;
}

/** An existing item of the layer that the frames of a window go into. */
export interface LayerItem extends Pick<StoredItem, 'startMs' | 'revision'> {
  /** Whether the item's chunk already has the layout {@link LayerPlan.layout}. */
  readonly isInLayout: boolean;
  /** Decodes the item, and returns its samples in that layout. */
  readonly block: () => Block;
}

/**
 * Plans the puts that merge the frames of a window into the items of a layer. Decodes only the items that get samples,
 * and decodes them one at a time, because a layer may have more samples than fit into memory. If the frames add series to
 * the layer's layout, also rewrites all other items, because all chunks of a layer must have the same layout. A new item
 * has the same `startMs` as the item that it replaces. If it would be too large, it is divided. An item that did not
 * change needs no put.
 *
 * @param added the frames, in the layer's layout
 * @param existing the items that the layer has so far
 * @returns the items to put, the latest first. A put may shorten an existing item. By then, the samples that the put
 *   removes are already in a later item, so a reader does not miss them, and a crash between two puts does not lose
 *   them
 */
export function planItems(
  added: Block,
  windowStart: number,
  existing: readonly LayerItem[],
  maxChunkBytes = MAX_ITEM_CHUNK_BYTES,
): ItemPut[] {
  const items = new Map(existing.map((item) => [item.startMs, item]));
  const starts = [...new Set([windowStart, ...items.keys()])].sort((a, b) => a - b);
  const puts: ItemPut[] = [];
  /** The samples that no item of `puts` has yet. */
  let rest = added;
  for (const [i, startMs] of starts.entries()) {
    const item = items.get(startMs);
    // Each item gets the remaining samples up to the start of the next item. The last item gets all that remain.
    const endMs = starts[i + 1] ?? Infinity;
    const getsSamples = rest.timestamps.length > 0 && rest.timestamps[0]! < endMs;
    if (!getsSamples && item?.isInLayout !== false) continue;
    // After a crash between two puts, an item may still have samples that are also in the next item. They stay in `rest`.
    const [own, later] = cutBlock(item === undefined ? rest : mergeBlocks(rest, item.block()), endMs);
    rest = later;
    for (const part of cutToFit(own, startMs, maxChunkBytes))
      puts.push({
        ...part,
        revision: revisionOf(part.chunk),
        replaces: part.startMs === startMs ? item?.revision : undefined,
      });
  }
  return puts.reverse().filter(({ revision, replaces }) => revision !== replaces);
}

/**
 * Whether the window will have several items after the puts, or one that does not begin with the window, since a purge
 * has removed the first. Reads by key do not find such items.
 *
 * @param existing all items of the window before the puts
 */
export function willBeDivided(
  existing: readonly Pick<StoredItem, 'startMs'>[],
  puts: readonly Pick<ItemPut, 'replaces'>[],
  windowStart: number,
): boolean {
  if (existing.some(({ startMs }) => startMs !== windowStart)) return true;
  return existing.length + puts.filter(({ replaces }) => replaces === undefined).length > 1;
}

/**
 * Encodes a block as chunks of at most `maxChunkBytes` bytes and {@link MAX_ITEM_SAMPLES} samples. Cuts a block
 * that is too large at its middle row, as often as needed. Never cuts a single row.
 */
function cutToFit(
  block: Block,
  startMs: number,
  maxChunkBytes: number,
): { startMs: number; chunk: Uint8Array }[] {
  const isOneRow = block.timestamps.length < 2;
  if (isOneRow || sampleCount(block) <= MAX_ITEM_SAMPLES) {
    const chunk = encodeChunk(block);
    if (isOneRow || chunk.length <= maxChunkBytes) return [{ startMs, chunk }];
  }
  const middle = block.timestamps[block.timestamps.length >> 1]!;
  const [head, tail] = cutBlock(block, middle);
  return [...cutToFit(head, startMs, maxChunkBytes), ...cutToFit(tail, middle, maxChunkBytes)];
}
