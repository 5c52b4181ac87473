import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../shared/model/duration';
import type { Actor } from './actor';
import { latePost } from './late-post';
import { compareHost } from './readers';

/** Duration of a flusher's lease, in ms (flush/execute.ts). */
const LEASE_MS = 120_000;

/** A replica that lags by up to a second takes over. */
const failover: Actor = {
  name: 'the primary fails over',
  everyMs: [1.5 * DAY_MS, 8 * DAY_MS],
  act: async (stage, random) =>
    stage.world.memory.failover(random.integer(0, 1_000), random.integer(100, 20_000)),
};

/** The primary fails, and there is no replica. */
const wipe: Actor = {
  name: 'memory is wiped',
  everyMs: [6 * DAY_MS, 20 * DAY_MS],
  act: async (stage, random) => stage.world.memory.failover(undefined, random.integer(100, 20_000)),
};

/**
 * A flusher stalls after it has read frames. In the meantime, another flusher moves these frames, and a late sample
 * opens the window again. When the first flusher continues, it must not remove that sample.
 */
const stallFlusher: Actor = {
  name: 'late samples come while a flusher stands still',
  everyMs: [6 * HOUR_MS, DAY_MS],
  act: async (stage, random) => {
    const late = latePost(stage, random, [3 * 60, 20 * 60]);
    if (late === undefined) return;
    await late.post();
    await stage.sleep(random.integer(2, 4) * MINUTE_MS);
    const stalled = stage.world.invoke(
      'flusher',
      { drain: true },
      { afterMs: random.integer(30, 110), forMs: random.integer(6, 13) * MINUTE_MS },
    );
    await stage.sleep(LEASE_MS + random.integer(5, 60) * 1000);
    await stage.world.invoke('flusher', { drain: true });
    await late.post();
    await stalled;
    await stage.sleep(2 * MINUTE_MS);
    await compareHost(stage, late.tenant, late.host, late.time, late.time);
  },
};

/** For some minutes, a service refuses or fails so many calls that clients exhaust their retries. */
const outage: Actor = {
  name: 'a service has an outage',
  everyMs: [6 * HOUR_MS, 2 * DAY_MS],
  act: async (stage, random) => {
    const { faults } = stage.world;
    faults.outage = {
      service: random.pick(['dynamodb', 'kinesis', 's3']),
      share: random.integer(2, 9) / 10,
    };
    await stage.sleep(random.integer(1, 8) * MINUTE_MS);
    faults.outage = undefined;
  },
};

export const STORMS: readonly Actor[] = [failover, wipe, stallFlusher, outage];
