import type { ByteRange } from './archive-format';

/**
 * Maximum gap between two ranges that one request fetches together, in bytes. Fetching such a gap costs less CPU than a
 * second request.
 */
const MAX_HOLE_BYTES = 64 * 1024;
/** Maximum size of a merged range, in bytes. A range that would make it larger gets a separate, parallel request. */
const MAX_MERGED_BYTES = 1024 * 1024;

/**
 * Merges nearby ranges of one object.
 *
 * @returns the merged ranges, ascending, and, for each given range, the index of the merged range that contains it
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

/**
 * Fetches ranges of one object. Nearby ranges share a request.
 *
 * @returns the bytes of each range
 */
export async function fetchMerged(
  ranges: readonly ByteRange[],
  fetch: (range: ByteRange) => Promise<Uint8Array>,
): Promise<Uint8Array[]> {
  const { merged, indexes } = mergeRanges(ranges);
  const parts = await Promise.all(merged.map((part) => (part.length === 0 ? NO_BYTES : fetch(part))));
  return ranges.map(({ offset, length }, i) => {
    const start = offset - merged[indexes[i]!]!.offset;
    return parts[indexes[i]!]!.subarray(start, start + length);
  });
}

const NO_BYTES = new Uint8Array(0);
