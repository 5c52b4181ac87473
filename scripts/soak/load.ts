import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../faults/random';
import type { ApiClient } from './api-client';
import type { Importer } from './importer';
import type { Sample } from './ledger';
import type { Sender } from './senders';

export interface LoadOptions {
  readonly senders: readonly Sender[];
  /** Between two posts of one sender. */
  readonly everyMs: number;
  /** The first posted sample's time, seconds since epoch. */
  readonly startS: number;
  /** How far behind the clock late samples are, seconds. @default what every stage admits */
  readonly lagsS?: readonly number[];
  /** @default nothing is imported */
  readonly imports?: Imports;
}

export interface Imports {
  readonly importer: Importer;
  /** Times of the samples that are imported before anything is posted. */
  readonly history: readonly number[];
}

/** An hour, and long enough for an earlier UTC day. */
const LAGS_S = [3_600, 20 * 3_600];
const RETRY_MS = 500;
/** Values are multiples of it, so that sums are exact in any order. */
const GRAIN = 1 / 128;
/** Values of imported samples begin here. */
const IMPORTED = 1_000_000;

/** Imports the history of each sender: many days, of which retention removes the first during the load. */
export async function importHistory(
  { importer, history }: Imports,
  senders: readonly Sender[],
): Promise<void> {
  for (const sender of senders) {
    const samples = history.flatMap((time, i) => samplesAt(sender, time, IMPORTED + i));
    for (;;) {
      const outcome = await importer.import(samples);
      if (outcome === 'acknowledged') break;
      if (outcome === 'refused') throw new Error('the retention ended before the load began');
      await sleep(RETRY_MS);
    }
  }
}

/**
 * Posts as agents do, and as they should not: all series of a sender, the next second each time; some late by hours or weeks,
 * some again in part with other values, some again unchanged. An operator imports corrections of the history. Samples that were not
 * acknowledged are posted again.
 */
export async function runLoad(
  client: ApiClient,
  { senders, everyMs, startS, lagsS = LAGS_S, imports }: LoadOptions,
  random: Random,
  isOver: () => boolean,
): Promise<void> {
  const run = async (sender: Sender, own: Random) => {
    let serial = 0;
    const next = (time: number) => samplesAt(sender, time, ++serial);
    await sleep(own.integer(0, everyMs));
    for (let second = 0; !isOver(); second++) {
      const now = startS + second;
      const posts = [next(now)];
      if (own.chance(0.1)) posts.push(next(now - own.pick(lagsS)));
      // Some of the metrics alone, others each time, as a sender does that cuts its requests anywhere.
      if (own.chance(0.3)) {
        const lagS = own.chance(0.2) ? own.pick(lagsS) : 0;
        const some = next(startS + own.integer(0, second) - lagS).filter(() => own.chance(0.6));
        if (some.length > 0) posts.push(some);
      }
      if (own.chance(0.1)) posts.push(posts[0]!);
      for (const samples of posts.flatMap((post) => sender.cut(post, own)))
        while ((await client.post(samples, sender.encode)) !== 'acknowledged' && !isOver())
          await sleep(RETRY_MS);
      if (imports !== undefined && own.chance(0.02)) {
        const { importer, history } = imports;
        const samples = samplesAt(sender, own.pick(history), IMPORTED + history.length + serial);
        while ((await importer.import(samples)) === 'unknown' && !isOver()) await sleep(RETRY_MS);
      }
      await sleep(everyMs);
    }
  };
  await Promise.all(senders.map((sender) => run(sender, random.fork())));
}

/** @param serial tells the sender's values of one time from those of another post */
function samplesAt({ series }: Sender, time: number, serial: number): Sample[] {
  return series.map((labels, m) => ({ labels, time, value: serial + m * GRAIN }));
}
