import { type Block, type ChunkReader, joinBlocks, LEFT_OUT, mergeBlocks, relayout } from '../codec';
import { inLayout } from './block-layout';
import { type Layout, unionLayout } from './layout';

/** A group's samples in columns, and the layout that names the columns. */
export interface LayoutBlock {
  readonly block: Block;
  readonly layout: Layout;
}

/** Up to this many series of a chunk are decoded singly. For more, the whole chunk is decoded. */
const MAX_SINGLE_SERIES = 4;

/**
 * Picks series from a block.
 *
 * @returns a block with the wanted layout; undefined when `block` has none of its series
 */
export function pickSeries({ block, layout }: LayoutBlock, wanted: Layout): Block | undefined {
  if (layout.id === wanted.id) return block;
  const positions = positionsOf(layout, wanted);
  return positions && relayout(block, wanted.idBytes, wanted.series.length, positions);
}

/** Picks series from a chunk like {@link pickSeries}, decoding as little as possible. */
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

/** Maps each column of `layout` to its column in `wanted`; undefined when they have no common series. */
function positionsOf(layout: Layout, wanted: Layout): Uint32Array | undefined {
  const positions = Uint32Array.from(layout.columns.keys(), (key) => wanted.columns.get(key) ?? LEFT_OUT);
  return positions.every((position) => position === LEFT_OUT) ? undefined : positions;
}

/** Merges blocks of one layout. Only those that overlap in time are merged; the results are then joined. */
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

/** Merges at least one block pairwise, so that each sample is copied a logarithmic number of times. */
function mergePairs(blocks: readonly Block[]): Block {
  if (blocks.length === 1) return blocks[0]!;
  const middle = blocks.length >> 1;
  return mergeBlocks(mergePairs(blocks.slice(0, middle)), mergePairs(blocks.slice(middle)));
}

/** Merges at least one block into the union of the layouts, pairwise. */
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
