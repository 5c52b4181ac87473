/** First and last times of some samples, ms since epoch, both inclusive. */
export interface Span {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Maximum number of spans of one tier in an answer. */
const MAX_SPANS = 24;

/** Gaps that are shorter than this share of the whole are closed, since a chart would not show them. */
const SMALLEST_GAP = 1 / 500;

/**
 * Merges the spans of places. First joins spans that touch or overlap. Then closes the smallest gaps until at most
 * `most` spans are left.
 *
 * @returns ascending, disjoint spans
 */
export function spansOf(places: readonly Span[], wholeMs: number, most = MAX_SPANS): Span[] {
  const sorted = [...places].sort((a, b) => a.firstMs - b.firstMs);
  const spans = merged(sorted, wholeMs * SMALLEST_GAP);
  if (spans.length <= most) return spans;
  const gaps = spans.slice(1).map(({ firstMs }, i) => firstMs - spans[i]!.lastMs);
  const closedMs = gaps.sort((a, b) => b - a)[most - 1]!;
  return merged(spans, closedMs);
}

/** Merges spans. @param gapMs largest gap between spans that are merged */
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
