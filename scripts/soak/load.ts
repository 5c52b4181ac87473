import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../faults/random';
import type { ApiClient } from './api-client';
import type { Sample } from './ledger';
import type { Sender } from './senders';

export interface LoadOptions {
  readonly senders: readonly Sender[];
  /** Time between two posts of a sender, in ms. */
  readonly everyMs: number;
  /** Time of the first posted sample, as Unix time in seconds. */
  readonly startS: number;
  /**
   * How far behind the clock late samples are, in seconds.
   *
   * @default delays that every stage accepts
   */
  readonly lagsS?: readonly number[];
}

/** Lags of late samples, in seconds: an hour, and 20 hours to reach the previous UTC day. */
const LAGS_S = [3_600, 20 * 3_600];
const RETRY_MS = 500;
/** Values are multiples of this, so that sums are exact in any order. */
const GRAIN = 1 / 128;

/**
 * Posts as agents do, and also in ways that agents should not. Each post contains all series of a sender, one second
 * after the sender's previous post. Some posts are late by hours or weeks, some overwrite samples with other values,
 * and some are sent twice unchanged. Unacknowledged samples are posted again.
 */
export async function runLoad(
  client: ApiClient,
  { senders, everyMs, startS, lagsS = LAGS_S }: LoadOptions,
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
      // Post a random part of the metrics, like a sender that divides its samples randomly.
      if (own.chance(0.3)) {
        const lagS = own.chance(0.2) ? own.pick(lagsS) : 0;
        const some = next(startS + own.integer(0, second) - lagS).filter(() => own.chance(0.6));
        if (some.length > 0) posts.push(some);
      }
      if (own.chance(0.1)) posts.push(posts[0]!);
      for (const samples of posts.flatMap((post) => sender.cut(post, own)))
        while ((await client.post(samples, sender.encode)) !== 'acknowledged' && !isOver())
          await sleep(RETRY_MS);
      await sleep(everyMs);
    }
  };
  await Promise.all(senders.map((sender) => run(sender, random.fork())));
}

/**
 * Makes the samples that a sender posts for a time: one for each series.
 *
 * @param serial a different number for each post, so that two posts of a sender for the same time have different values
 */
function samplesAt({ series }: Sender, time: number, serial: number): Sample[] {
  return series.map((labels, m) => ({ labels, time, value: serial + m * GRAIN }));
}
