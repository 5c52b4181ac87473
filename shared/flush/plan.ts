import { type Block, cutBlock, encodeChunk, sliceBlock } from '../codec';
import type { Id } from '../model/id';
import { type Layout, MAX_MERGED_BYTES, mergeLayouts } from '../model/layout';
import { type Day, dayOf } from '../model/placement';
import type { WarmItem } from '../warm/warm-item';
import { MAX_ITEM_CHUNK_BYTES, revisionOf } from '../warm/warm-tier';

/**
 * The decisions of a flush, without I/O; execute.ts reads and writes. A flush leases group-windows that are due, and
 * announces their days in the manifest, which opens the days. It takes the first frames of each window
 * ({@link planTake}), and merges them with the warm items of one layer of the window ({@link planLayer}). It divides
 * the result into items, and puts the items that changed ({@link planItems}). Then it announces the days again, and
 * trims exactly the frames that it took.
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
  /** The existing items of the layer, with which the frames are merged; none for a new layer. */
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

/**
 * Divides the block of a layer into warm items. Each existing item is replaced by a new item that begins at the same
 * time. A new item that would be too large is divided further. Leaves out items that did not change.
 *
 * @param block the whole layer: the frames merged with the existing items
 * @param existing the items that the layer has so far
 * @returns the items to put, the latest first. A put may shorten an existing item. By then, the samples that the put
 *   removes are already in a later item, so a reader does not miss them, and a crash between two puts does not lose
 *   them
 */
export function planItems(
  block: Block,
  windowStart: number,
  existing: readonly Pick<StoredItem, 'startMs' | 'revision'>[],
  maxChunkBytes = MAX_ITEM_CHUNK_BYTES,
): ItemPut[] {
  const revisions = new Map(existing.map(({ startMs, revision }) => [startMs, revision]));
  const starts = [...new Set([windowStart, ...revisions.keys()])].sort((a, b) => a - b);
  return starts
    .flatMap((startMs, i) => cutToFit(sliceOf(block, starts, i), startMs, maxChunkBytes))
    .reverse()
    .map(({ startMs, chunk }) => ({
      startMs,
      chunk,
      revision: revisionOf(chunk),
      replaces: revisions.get(startMs),
    }))
    .filter(({ revision, replaces }) => revision !== replaces);
}

/**
 * Whether the window will have several items after the puts.
 *
 * @param existing all items of the window before the puts
 */
export function isInSeveral(
  existing: readonly unknown[],
  puts: readonly Pick<ItemPut, 'replaces'>[],
): boolean {
  return existing.length + puts.filter(({ replaces }) => replaces === undefined).length > 1;
}

/**
 * Returns the samples of a block from the `i`th start up to the next start. The first item also gets all earlier
 * samples.
 */
function sliceOf(block: Block, starts: readonly number[], i: number): Block {
  if (starts.length === 1) return block;
  const fromMs = i === 0 ? -Infinity : starts[i]!;
  return sliceBlock(block, fromMs, starts[i + 1] ?? Infinity);
}

/**
 * Encodes a block as chunks of at most `maxChunkBytes` bytes, halving the block in time as often as needed. Never
 * splits a single row.
 */
function cutToFit(
  block: Block,
  startMs: number,
  maxChunkBytes: number,
): { startMs: number; chunk: Uint8Array }[] {
  const chunk = encodeChunk(block);
  if (chunk.length <= maxChunkBytes || block.timestamps.length < 2) return [{ startMs, chunk }];
  const middle = block.timestamps[block.timestamps.length >> 1]!;
  const [head, tail] = cutBlock(block, middle);
  return [...cutToFit(head, startMs, maxChunkBytes), ...cutToFit(tail, middle, maxChunkBytes)];
}
