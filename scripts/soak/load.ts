import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../faults/random';
import type { ApiClient } from './api-client';
import type { Sample } from './ledger';
import type { Sender } from './senders';

export interface LoadOptions {
  readonly senders: readonly Sender[];
  /** Between two posts of one sender. */
  readonly everyMs: number;
  /** The first sample's time, seconds since epoch. */
  readonly startS: number;
}

/** An hour, and long enough for an earlier UTC day. */
const LATE_S = [3_600, 20 * 3_600];
const RETRY_MS = 500;

/**
 * Posts as agents do, and as they should not: all series of a sender, the next second each time; some late, some again in
 * part with other values, some again unchanged. Samples that were not acknowledged are posted again.
 */
export async function runLoad(
  client: ApiClient,
  { senders, everyMs, startS }: LoadOptions,
  random: Random,
  isOver: () => boolean,
): Promise<void> {
  const run = async (sender: Sender, own: Random) => {
    let serial = 0;
    const samplesAt = (time: number): Sample[] => {
      serial++;
      return sender.series.map((labels, m) => ({ labels, time, value: serial + m / 100 }));
    };
    await sleep(own.integer(0, everyMs));
    for (let second = 0; !isOver(); second++) {
      const now = startS + second;
      const posts = [samplesAt(now)];
      if (own.chance(0.1)) posts.push(samplesAt(now - own.pick(LATE_S)));
      // Some of the metrics alone, others each time, as a sender does that cuts its requests anywhere.
      if (own.chance(0.3)) {
        const some = samplesAt(startS + own.integer(0, second)).filter(() => own.chance(0.6));
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
