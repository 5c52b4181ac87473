import type { ByteRange } from './archive-format';

/** A hole that is fetched costs less CPU than a request of its own. */
const MAX_HOLE_BYTES = 64 * 1024;
/** Longer ranges go side by side. */
const MAX_MERGED_BYTES = 1024 * 1024;

/**
 * Merges ranges of one object that lie near each other.
 *
 * @returns ascending ranges, and for each given one the index of that which has it
 */
export function mergeRanges(ranges: readonly ByteRange[]): {
  readonly merged: readonly ByteRange[];
  readonly indexes: readonly number[];
} {
  const merged: { offset: number; length: number }[] = [];
  const indexes = new Array<number>(ranges.length);
  const order = ranges.map((_, i) => i).sort((a, b) => ranges[a]!.offset - ranges[b]!.offset);
  for (const i of order) {
    const { offset, length } = ranges[i]!;
    const last = merged.at(-1);
    const end = offset + length;
    if (
      last !== undefined &&
      offset - (last.offset + last.length) <= MAX_HOLE_BYTES &&
      end - last.offset <= MAX_MERGED_BYTES
    )
      last.length = Math.max(last.length, end - last.offset);
    else merged.push({ offset, length });
    indexes[i] = merged.length - 1;
  }
  return { merged, indexes };
}
