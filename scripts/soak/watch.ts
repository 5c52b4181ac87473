import { setTimeout as sleep } from 'node:timers/promises';
import { DAY_MS } from '../../shared/model/duration';
import { type Labels, labelsKey } from '../../shared/model/labels';
import type { Random } from '../faults/random';
import type { ApiClient } from './api-client';
import type { Comparison } from './comparison';
import type { SoakTimes } from './times';

export interface WatchOptions {
  readonly series: readonly Labels[];
  readonly startS: number;
  /**
   * Samples of other days.
   *
   * @default none
   */
  readonly aging?: Aging;
}

export interface Aging {
  /** Times of the imported samples. */
  readonly history: readonly number[];
  readonly times: SoakTimes;
  readonly comparison: Comparison;
  /** Returns whether the clock of the query function is correct. */
  readonly isClockRight: () => boolean;
}

/** Result of the reads during the load. */
export interface Watched {
  readonly reads: number;
  /**
   * Samples that an earlier answer had but a later, complete answer lacked, or that retention removed too
   * early or too late.
   */
  readonly gaps: readonly string[];
}

const EVERY_MS = 100;
const DAY_S = DAY_MS / 1000;
/** Time around an expiry in which nothing is checked, in ms. */
const MARGIN_MS = 5_000;

/** Reads while data moves under faults: alternately new, aggregated and expiring samples. */
export async function watch(
  client: ApiClient,
  options: WatchOptions,
  random: Random,
  isOver: () => boolean,
): Promise<Watched> {
  const watcher = new Watcher(client, options, random, () => !isOver());
  const { aging } = options;
  const looks = [
    () => watcher.recent(),
    ...(aging === undefined ? [] : [() => watcher.steps(aging), () => watcher.oldest(aging)]),
  ];
  for (let i = 0; !isOver(); i++) {
    // Ignore errors: a check fails if the load ends during it.
    await looks[i % looks.length]!().catch(() => {});
    await sleep(EVERY_MS);
  }
  return watcher;
}

class Watcher implements Watched {
  reads = 0;
  readonly gaps: string[] = [];
  private readonly seen = new Map<string, Set<number>>();

  constructor(
    private readonly client: ApiClient,
    private readonly options: WatchOptions,
    private readonly random: Random,
    private readonly isPatient: () => boolean,
  ) {}

  /**
   * Reads recent samples of a random series. Checks that each sample that an earlier answer contained is
   * still there, unless the answer is an error.
   */
  async recent(): Promise<void> {
    const { series, startS } = this.options;
    const labels = this.random.pick(series);
    const key = labelsKey(labels);
    const found = await this.timesOf(labels, startS, startS + 20 * 3600);
    this.reads++;
    for (const time of this.seen.get(key) ?? [])
      if (!found.has(time))
        this.gaps.push(`${key} at ${time} was seen before read ${this.reads} and not in it`);
    this.seen.set(key, found);
  }

  /**
   * Hours and days must match their samples. The last two days are excluded, because every post changes them.
   */
  async steps({ comparison }: Aging): Promise<void> {
    const { series, startS } = this.options;
    await comparison.compare(this.random.pick(series), (Math.floor(startS / DAY_S) - 1) * DAY_S - 1);
    this.reads++;
  }

  /** The oldest day must be readable until its retention ends, and not afterwards. */
  async oldest({ history, times, isClockRight }: Aging): Promise<void> {
    const { boundaryS, expiresAtMs } = times;
    const labels = this.random.pick(this.options.series);
    const wasRight = isClockRight();
    const beganMs = Date.now();
    const found = await this.timesOf(labels, boundaryS - DAY_S / 2, boundaryS - 1);
    if (!wasRight || !isClockRight()) return;
    this.reads++;
    const isEarly = Date.now() < expiresAtMs - MARGIN_MS;
    const isLate = beganMs > expiresAtMs + MARGIN_MS;
    for (const time of history.filter((each) => each < boundaryS)) {
      const what = `${labelsKey(labels)} at ${time}`;
      if (isEarly && !found.has(time)) this.gaps.push(`${what} disappeared before the retention ended`);
      if (isLate && found.has(time)) this.gaps.push(`${what} is read after the retention ended`);
    }
  }

  private async timesOf(labels: Labels, from: number, to: number): Promise<Set<number>> {
    const points = await this.client.read(labels, from, to, this.isPatient);
    return new Set(points.map(({ time }) => time));
  }
}
