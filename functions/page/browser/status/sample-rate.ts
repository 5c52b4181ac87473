/** The number of samples (or of reads) from the beginning of the month until a point in time. */
export interface Count {
  /** Unix time in ms. */
  readonly atMs: number;
  readonly count: number;
}

/**
 * Minimum span of a rate, in ms. Functions add their counts every 30 s, so the rate over a shorter span would
 * fluctuate.
 */
const MIN_SPAN_MS = 30_000;
const MAX_SPAN_MS = 180_000;

/** Appends a count. Drops counts that are too old for the rate, or from the previous month. */
export function withCount(seen: readonly Count[], next: Count): Count[] {
  const kept = seen.filter(({ atMs, count }) => next.atMs - atMs <= MAX_SPAN_MS && count <= next.count);
  return [...kept, next];
}

/** Returns the number of samples per second over the last minutes; undefined until the counts span half a minute. */
export function sampleRate(seen: readonly Count[]): number | undefined {
  const [first, last] = [seen[0], seen.at(-1)];
  if (first === undefined || last === undefined || last.atMs - first.atMs < MIN_SPAN_MS) return undefined;
  return ((last.count - first.count) / (last.atMs - first.atMs)) * 1000;
}

/** Returns the number of seconds until a rate is available; 0 if it already is. */
export function secondsToRate(seen: readonly Count[]): number {
  const [first, last] = [seen[0], seen.at(-1)];
  const spanMs = first === undefined || last === undefined ? 0 : last.atMs - first.atMs;
  return Math.max(0, Math.ceil((MIN_SPAN_MS - spanMs) / 1000));
}
