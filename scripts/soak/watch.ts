import { setTimeout as sleep } from 'node:timers/promises';
import { type Labels, labelsKey } from '../../shared/model/labels';
import type { Random } from '../faults/random';
import type { ApiClient } from './api-client';

export interface WatchOptions {
  readonly series: readonly Labels[];
  readonly startS: number;
}

/** Result of the reads during the load. */
export interface Watched {
  readonly reads: number;
  /** Samples that an earlier answer had and a later, complete answer lacked. */
  readonly gaps: readonly string[];
}

const EVERY_MS = 100;

/** Reads while data moves under faults: a sample seen once must be seen again, or the answer must be an error. */
export async function watch(
  client: ApiClient,
  { series, startS }: WatchOptions,
  random: Random,
  isOver: () => boolean,
): Promise<Watched> {
  const seen = new Map<string, Set<number>>();
  const gaps: string[] = [];
  let reads = 0;
  while (!isOver()) {
    const labels = random.pick(series);
    const key = labelsKey(labels);
    const times = await client
      .read(labels, startS, startS + 20 * 3600, () => !isOver())
      .then((metrics) => new Set(metrics.map(({ time }) => time)))
      .catch(() => undefined);
    if (times === undefined) break;
    reads++;
    for (const time of seen.get(key) ?? [])
      if (!times.has(time)) gaps.push(`${key} at ${time} was seen before read ${reads} and not in it`);
    seen.set(key, times);
    await sleep(EVERY_MS);
  }
  return { reads, gaps };
}
