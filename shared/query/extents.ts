/** First and last times of some samples, as Unix time in ms, both inclusive. */
export interface Extent {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Maximum number of extents of one tier in a response. */
const MAX_EXTENTS = 24;

/** A gap of at most this fraction of the whole range is closed, since a chart would not show it. */
const SMALLEST_GAP = 1 / 500;

/**
 * Merges extents. First joins extents that overlap or whose gap is too small to see in a chart. Then closes the
 * smallest gaps until at most {@link MAX_EXTENTS} extents are left.
 *
 * @param wholeMs length of the whole range
 * @returns ascending, disjoint extents
 */
export function mergeExtents(places: readonly Extent[], wholeMs: number): Extent[] {
  const sorted = [...places].sort((a, b) => a.firstMs - b.firstMs);
  const extents = closeGaps(sorted, wholeMs * SMALLEST_GAP);
  if (extents.length <= MAX_EXTENTS) return extents;
  const gaps = extents.slice(1).map(({ firstMs }, i) => firstMs - extents[i]!.lastMs);
  const closedMs = gaps.sort((a, b) => b - a)[MAX_EXTENTS - 1]!;
  return closeGaps(extents, closedMs);
}

/** Merges extents that are at most `gapMs` apart. */
function closeGaps(sorted: readonly Extent[], gapMs: number): Extent[] {
  const extents: Extent[] = [];
  for (const { firstMs, lastMs } of sorted) {
    const last = extents.at(-1);
    if (last !== undefined && firstMs - last.lastMs <= gapMs)
      extents[extents.length - 1] = { firstMs: last.firstMs, lastMs: Math.max(last.lastMs, lastMs) };
    else extents.push({ firstMs, lastMs });
  }
  return extents;
}
