import { type Block, type ChunkReader, joinBlocks, LEFT_OUT, mergeBlocks, relayout } from '../codec';
import { inLayout } from './block-layout';
import { type Layout, unionLayout } from './layout';

/** A block, and the layout that says which series its columns are. */
export interface LayoutBlock {
  readonly block: Block;
  readonly layout: Layout;
}

/** Up to this many wanted series, they are decoded one by one. For more, the whole chunk is decoded. */
const MAX_SINGLE_SERIES = 4;

/**
 * Picks series from a block.
 *
 * @returns a block with the layout `wanted`; undefined if `block` has none of its series
 */
export function pickSeries({ block, layout }: LayoutBlock, wanted: Layout): Block | undefined {
  if (layout.id === wanted.id) return block;
  const positions = positionsOf(layout, wanted);
  return positions && relayout(block, wanted.idBytes, wanted.series.length, positions);
}

/** Picks series from a chunk, like {@link pickSeries}. Decodes only the wanted series if they are few. */
export function pickFromChunk(chunk: ChunkReader, layout: Layout, wanted: Layout): Block | undefined {
  if (layout.id === wanted.id) return chunk.block();
  if (wanted.series.length > MAX_SINGLE_SERIES) {
    const positions = positionsOf(layout, wanted);
    return positions && relayout(chunk.block(), wanted.idBytes, wanted.series.length, positions);
  }
  const blocks: Block[] = [];
  for (const [key, column] of wanted.columns) {
    const index = layout.columns.get(key);
    if (index === undefined) continue;
    const single = chunk.series(index);
    blocks.push(relayout(single, wanted.idBytes, wanted.series.length, Uint32Array.of(column)));
  }
  return mergeAll(blocks);
}

/** Returns the column in `wanted` of each column of `layout`; undefined if they have no series in common. */
function positionsOf(layout: Layout, wanted: Layout): Uint32Array | undefined {
  const positions = Uint32Array.from(layout.columns.keys(), (key) => wanted.columns.get(key) ?? LEFT_OUT);
  return positions.every((position) => position === LEFT_OUT) ? undefined : positions;
}

/**
 * Merges blocks of one layout. Merges those that overlap in time, which takes longer, and joins the results.
 * Returns undefined if there is no block.
 */
export function mergeAll(blocks: readonly Block[]): Block | undefined {
  if (blocks.length <= 1) return blocks[0];
  const full = blocks.filter(({ timestamps }) => timestamps.length > 0);
  if (full.length <= 1) return full[0] ?? blocks[0];
  const runs: Block[][] = [];
  let endMs = -Infinity;
  for (const block of full.sort((a, b) => a.timestamps[0]! - b.timestamps[0]!)) {
    if (block.timestamps[0]! > endMs) runs.push([block]);
    else runs.at(-1)!.push(block);
    endMs = Math.max(endMs, block.timestamps.at(-1)!);
  }
  return joinBlocks(runs.map(mergePairs));
}

/**
 * Merges blocks, at least one, in pairs, so that a sample is copied log2(n) times for n blocks.
 */
function mergePairs(blocks: readonly Block[]): Block {
  if (blocks.length === 1) return blocks[0]!;
  const middle = blocks.length >> 1;
  return mergeBlocks(mergePairs(blocks.slice(0, middle)), mergePairs(blocks.slice(middle)));
}

/** Merges blocks of any layouts, at least one, into a block of the union of their layouts. */
export function mergeLayoutBlocks(blocks: readonly LayoutBlock[]): LayoutBlock {
  if (blocks.length === 1) return blocks[0]!;
  const middle = blocks.length >> 1;
  const a = mergeLayoutBlocks(blocks.slice(0, middle));
  const b = mergeLayoutBlocks(blocks.slice(middle));
  const layout = unionLayout([a.layout, b.layout]);
  return {
    block: mergeBlocks(inLayout(a.block, a.layout, layout), inLayout(b.block, b.layout, layout)),
    layout,
  };
}
