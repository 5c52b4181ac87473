import { sampleCount } from '../codec';
import { type LayoutBlock, mergeLayoutBlocks } from '../model/layout-block';

/**
 * Maximum number of samples in an archived chunk. Blocks that overlap in time are merged into one chunk even if they
 * have more.
 */
const MAX_CHUNK_SAMPLES = 1_000_000;

/**
 * Merges the blocks of a group into a few blocks that do not overlap in time.
 *
 * @param blocks in any order; none may be empty
 * @param maxSamples maximum number of samples in a returned block. Blocks that overlap in time are merged even if they
 *   have more
 * @returns blocks in ascending order of time
 */
export function mergeInTime(
  blocks: readonly LayoutBlock[],
  maxSamples: number = MAX_CHUNK_SAMPLES,
): LayoutBlock[] {
  const sorted = [...blocks].sort((a, b) => firstMs(a) - firstMs(b));
  const runs: LayoutBlock[][] = [];
  let samples = 0;
  let lastMs = -Infinity;
  for (const block of sorted) {
    const count = sampleCount(block.block);
    const overlaps = firstMs(block) <= lastMs;
    if (runs.length === 0 || (!overlaps && samples + count > maxSamples)) {
      runs.push([]);
      samples = 0;
    }
    runs.at(-1)!.push(block);
    samples += count;
    lastMs = Math.max(lastMs, block.block.timestamps.at(-1)!);
  }
  return runs.map(mergeLayoutBlocks);
}

function firstMs({ block }: LayoutBlock): number {
  return block.timestamps[0]!;
}
