import { type Block, encodeChunk, sliceBlock, splitBlock } from '../codec';
import type { Id } from '../model/id';
import { type Layout, MAX_UNION_BYTES, unionLayout } from '../model/layout';
import { type Day, dayOf } from '../model/placement';
import { MAX_ITEM_CHUNK_BYTES, revisionOf, type WarmItem } from '../warm/warm-tier';

/**
 * The pure decisions of a flush; execute.ts does the reading and writing. A flush leases group-windows that
 * are due and announces their days. For each window it takes the first frames ({@link planTake}), merges them
 * with one layer of the existing warm items ({@link planLayer}) and puts the parts that changed ({@link
 * planParts}). Then it announces the days once more, and trims exactly the frames that it took.
 */

/** Most series of a chunk's layout. A row of this size fits into an item; a row cannot be split by time. */
export const MAX_UNION_SERIES = 8_192;

/**
 * Returns the days to announce before the first put and again after the last. An archiver that reads in
 * between misses some puts, so it must find the day open afterwards (DESIGN.md, rule 12).
 */
export function announcedDays(leases: readonly { readonly windowStart: number }[]): Day[] {
  return [...new Set(leases.map(({ windowStart }) => dayOf(windowStart)))];
}

export type TakePlan =
  /** The plan needs to read this layout first. */
  | { readonly act: 'read'; readonly layoutId: Id }
  /** The first `count` frames, whose layouts are `layouts`, move now. The rest stay due. */
  | { readonly act: 'take'; readonly count: number; readonly layouts: readonly Layout[] };

/**
 * Decides how many of a window's frames move together: as many as one layout can hold within its bounds, but
 * at least the frames before the second layout.
 *
 * @param frames each frame's layout, in the order of the list in memory
 * @param known layouts read so far
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
    if ((bytes > MAX_UNION_BYTES || series > MAX_UNION_SERIES) && i > 0)
      return { act: 'take', count: i, layouts: [...taken.values()] };
    taken.set(layoutId, layout);
  }
  return { act: 'take', count: frames.length, layouts: [...taken.values()] };
}

/** A warm item of the window, with the layout of its chunk. */
export interface StoredPart extends Pick<WarmItem, 'layer' | 'startMs' | 'revision'> {
  readonly layout: Layout;
}

export interface LayerPlan<Part> {
  readonly layer: number;
  /** The existing parts of the layer. The frames are merged with them. */
  readonly merged: readonly Part[];
  /** Layout of all series of the frames and of `merged`. */
  readonly union: Layout;
}

/**
 * Picks the layer for the frames: the first whose layout, joined with the frames' layouts, stays within
 * bounds; otherwise a new layer. Nearly every window has one layer.
 *
 * @param layouts the frames' layouts
 * @param parts all parts of the window
 */
export function planLayer<Part extends Pick<StoredPart, 'layer' | 'layout'>>(
  layouts: readonly Layout[],
  parts: readonly Part[],
): LayerPlan<Part> {
  for (let layer = 0; ; layer++) {
    const merged = parts.filter((part) => part.layer === layer);
    const union = unionLayout([...layouts, ...merged.map(({ layout }) => layout)]);
    const fits = union.bytes.length <= MAX_UNION_BYTES && union.series.length <= MAX_UNION_SERIES;
    if (merged.length === 0 || fits) return { layer, merged, union };
  }
}

/** A part to put. */
export interface PartPut {
  readonly startMs: number;
  readonly chunk: Uint8Array;
  readonly revision: string;
  /** Revision of the item it replaces; undefined when there must be none. */
  readonly replaces: string | undefined;
}

/**
 * Divides a layer's block into parts that each fit an item. It divides where the existing parts begin and
 * where a part has grown too large. Parts that did not change are left out.
 *
 * @param block the whole layer: frames and existing parts
 * @returns the puts, the last part first. So the samples that a put removes from a part are already in a
 *   later part, both for a concurrent reader and after a crash between two puts
 */
export function planParts(
  block: Block,
  windowStart: number,
  existing: readonly Pick<StoredPart, 'startMs' | 'revision'>[],
  maxChunkBytes = MAX_ITEM_CHUNK_BYTES,
): PartPut[] {
  const revisions = new Map(existing.map(({ startMs, revision }) => [startMs, revision]));
  const starts = [...new Set([windowStart, ...revisions.keys()])].sort((a, b) => a - b);
  return starts
    .flatMap((startMs, i) => splitToFit(sliceOf(block, starts, i), startMs, maxChunkBytes))
    .reverse()
    .map(({ startMs, chunk }) => ({
      startMs,
      chunk,
      revision: revisionOf(chunk),
      replaces: revisions.get(startMs),
    }))
    .filter(({ revision, replaces }) => revision !== replaces);
}

/** Whether a window has several items once the puts are done. */
export function isInSeveral(
  existing: readonly unknown[],
  puts: readonly Pick<PartPut, 'replaces'>[],
): boolean {
  return existing.length + puts.filter(({ replaces }) => replaces === undefined).length > 1;
}

/**
 * Returns the part of the block that belongs to one start. The first part also takes everything before its
 * start.
 */
function sliceOf(block: Block, starts: readonly number[], i: number): Block {
  if (starts.length === 1) return block;
  const fromMs = i === 0 ? -Infinity : starts[i]!;
  return sliceBlock(block, fromMs, starts[i + 1] ?? Infinity);
}

/** Halves a block in time until each chunk fits. A single row is never split. */
function splitToFit(
  block: Block,
  startMs: number,
  maxChunkBytes: number,
): { startMs: number; chunk: Uint8Array }[] {
  const chunk = encodeChunk(block);
  if (chunk.length <= maxChunkBytes || block.timestamps.length < 2) return [{ startMs, chunk }];
  const middle = block.timestamps[block.timestamps.length >> 1]!;
  const [head, tail] = splitBlock(block, middle);
  return [...splitToFit(head, startMs, maxChunkBytes), ...splitToFit(tail, middle, maxChunkBytes)];
}
