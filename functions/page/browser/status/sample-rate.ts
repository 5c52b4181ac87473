/** How much was counted in a month by a time. */
export interface Count {
  /** ms since epoch. */
  readonly atMs: number;
  readonly count: number;
}

/** Functions add what they counted every 30 s: over a shorter time the rate would jump. */
export const MIN_SPAN_MS = 30_000;
const MAX_SPAN_MS = 180_000;

/** Appends a count; drops those older than a rate needs, and those of the month before. */
export function withCount(seen: readonly Count[], next: Count): Count[] {
  const kept = seen.filter(({ atMs, count }) => next.atMs - atMs <= MAX_SPAN_MS && count <= next.count);
  return [...kept, next];
}

/** @returns how much is counted a second, over the last minutes; undefined until the counts span half a minute */
export function sampleRate(seen: readonly Count[]): number | undefined {
  const [first, last] = [seen[0], seen.at(-1)];
  if (first === undefined || last === undefined || last.atMs - first.atMs < MIN_SPAN_MS) return undefined;
  return ((last.count - first.count) / (last.atMs - first.atMs)) * 1000;
}

/** Seconds until there is a rate; 0 when there is one. */
export function secondsToRate(seen: readonly Count[]): number {
  const [first, last] = [seen[0], seen.at(-1)];
  const spanMs = first === undefined || last === undefined ? 0 : last.atMs - first.atMs;
  return Math.max(0, Math.ceil((MIN_SPAN_MS - spanMs) / 1000));
}
