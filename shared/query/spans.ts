/** From the first to the last of some samples, ms since epoch, both included. */
export interface Span {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Spans of one answer and tier. */
const MAX_SPANS = 24;

/** Gaps below this share of the whole are closed: nobody would see them. */
const SMALLEST_GAP = 1 / 500;

/**
 * Where along the time axis places hold samples: those that touch or overlap become one, then the smallest gaps are
 * closed until there are few enough.
 *
 * @returns ascending, disjoint
 */
export function spansOf(places: readonly Span[], wholeMs: number, most = MAX_SPANS): Span[] {
  const sorted = [...places].sort((a, b) => a.firstMs - b.firstMs);
  const spans = merged(sorted, wholeMs * SMALLEST_GAP);
  if (spans.length <= most) return spans;
  const gaps = spans.slice(1).map(({ firstMs }, i) => firstMs - spans[i]!.lastMs);
  const closedMs = gaps.sort((a, b) => b - a)[most - 1]!;
  return merged(spans, closedMs);
}

/** @param gapMs what is this far apart, or nearer, becomes one */
function merged(sorted: readonly Span[], gapMs: number): Span[] {
  const spans: Span[] = [];
  for (const { firstMs, lastMs } of sorted) {
    const last = spans.at(-1);
    if (last !== undefined && firstMs - last.lastMs <= gapMs)
      spans[spans.length - 1] = { firstMs: last.firstMs, lastMs: Math.max(last.lastMs, lastMs) };
    else spans.push({ firstMs, lastMs });
  }
  return spans;
}
