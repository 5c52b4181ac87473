import { type Block, type ChunkReader, joinBlocks, LEFT_OUT, mergeBlocks, relayout } from '../codec';
import { inLayout } from './block-layout';
import { type Layout, mergeLayouts } from './layout';
import type { LayoutPick } from './selection';

/** A block, and the layout that names the series of its columns. */
export interface LayoutBlock {
  readonly block: Block;
  readonly layout: Layout;
}

/** Up to this many wanted series are decoded individually. If more are wanted, the whole chunk is decoded. */
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

/**
 * Picks series from a chunk, like {@link pickSeries}. If few series are wanted, decodes only these.
 *
 * @param pick the wanted columns of the chunk's layout
 */
export function pickFromChunk(
  chunk: ChunkReader,
  { columns, positions }: LayoutPick,
  wanted: Layout,
): Block | undefined {
  if (columns.length === 0) return undefined;
  const seriesCount = wanted.series.length;
  if (columns.length <= MAX_SINGLE_SERIES) {
    const blocks: Block[] = [];
    for (let i = 0; i < columns.length; i++)
      blocks.push(
        relayout(chunk.series(columns[i]!), wanted.idBytes, seriesCount, positions.subarray(i, i + 1)),
      );
    return mergeAll(blocks);
  }
  const positionOf = new Uint32Array(chunk.seriesCount).fill(LEFT_OUT);
  for (let i = 0; i < columns.length; i++) positionOf[columns[i]!] = positions[i]!;
  return relayout(chunk.block(), wanted.idBytes, seriesCount, positionOf);
}

/**
 * Finds the columns of `layout` whose series are in `wanted`, ascending, and each series' column in `wanted`.
 */
export function pickOf({ columns, series }: Layout, wanted: Layout): LayoutPick {
  const found: [column: number, position: number][] = [];
  for (const [key, position] of wanted.columns) {
    const column = columns.get(key);
    if (column !== undefined) found.push([column, position]);
  }
  found.sort(([a], [b]) => a - b);
  return {
    columns: Uint32Array.from(found, ([column]) => column),
    positions: Uint32Array.from(found, ([, position]) => position),
    seriesCount: series.length,
  };
}

/** Returns the column in `wanted` of each column of `layout`; undefined if the two layouts have no series in common. */
function positionsOf(layout: Layout, wanted: Layout): Uint32Array | undefined {
  const positions = Uint32Array.from(layout.columns.keys(), (key) => wanted.columns.get(key) ?? LEFT_OUT);
  return positions.every((position) => position === LEFT_OUT) ? undefined : positions;
}

/**
 * Merges blocks of one layout. Returns undefined if there are no blocks. Merging takes longer than joining, so only
 * blocks that overlap in time are merged; the results are joined.
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

/** Merges blocks, at least one, in pairs, so that merging n blocks copies each sample only log2(n) times. */
function mergePairs(blocks: readonly Block[]): Block {
  if (blocks.length === 1) return blocks[0]!;
  const middle = blocks.length >> 1;
  return mergeBlocks(mergePairs(blocks.slice(0, middle)), mergePairs(blocks.slice(middle)));
}

/** Merges blocks of any layouts, at least one, into a block of their merged layout. */
export function mergeLayoutBlocks(blocks: readonly LayoutBlock[]): LayoutBlock {
  const layout = mergeLayouts(blocks.map((each) => each.layout));
  return { block: mergeAll(blocks.map((each) => inLayout(each.block, each.layout, layout)))!, layout };
}
