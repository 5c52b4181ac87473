/** How many samples a month has had at a time, ms since epoch. */
export interface Count {
  readonly atMs: number;
  readonly samples: number;
}

/** What is counted arrives in lumps, twice a minute: a rate over less would jump. */
const MIN_SPAN_MS = 60_000;
const MAX_SPAN_MS = 180_000;

/** The counts seen so far with another one: as far back as a rate needs; none of before a new month began. */
export function withCount(seen: readonly Count[], next: Count): Count[] {
  const kept = seen.filter(({ atMs, samples }) => next.atMs - atMs <= MAX_SPAN_MS && samples <= next.samples);
  return [...kept, next];
}

/** @returns samples a second, over the last minutes; undefined until they were looked at for one */
export function sampleRate(seen: readonly Count[]): number | undefined {
  const [first, last] = [seen[0], seen.at(-1)];
  if (first === undefined || last === undefined || last.atMs - first.atMs < MIN_SPAN_MS) return undefined;
  return ((last.samples - first.samples) / (last.atMs - first.atMs)) * 1000;
}
