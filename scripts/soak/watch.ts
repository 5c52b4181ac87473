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
  /** Samples that were in an earlier response but not in a later, complete one. */
  readonly gaps: readonly string[];
}

const EVERY_MS = 100;

/**
 * Reads recent samples of random series while data moves between tiers under faults. Checks that each response, unless
 * it is an error, still contains every sample of earlier responses.
 */
export async function watch(
  client: ApiClient,
  { series, startS }: WatchOptions,
  random: Random,
  isOver: () => boolean,
): Promise<Watched> {
  const seen = new Map<string, ReadonlySet<number>>();
  const gaps: string[] = [];
  let reads = 0;
  const look = async () => {
    const labels = random.pick(series);
    const key = labelsKey(labels);
    const points = await client.read(labels, startS, startS + 20 * 3600, () => !isOver());
    const found = new Set(points.map(({ time }) => time));
    reads++;
    for (const time of seen.get(key) ?? [])
      if (!found.has(time)) gaps.push(`${key} at ${time} was seen before read ${reads} and not in it`);
    seen.set(key, found);
  };
  while (!isOver()) {
    // Ignore errors: a read fails if the load ends during it.
    await look().catch(() => {});
    await sleep(EVERY_MS);
  }
  return { reads, gaps };
}
