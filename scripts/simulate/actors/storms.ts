import { DAY_MS } from '../../../shared/model/duration';
import type { Actor } from './actor';

/** A replica that lags by up to a second takes over. */
const failover: Actor = {
  name: 'the primary fails over',
  everyMs: [1.5 * DAY_MS, 8 * DAY_MS],
  act: async (stage, random) => stage.world.failover(random.integer(0, 1_000), random.integer(100, 20_000)),
};

/** The primary ends without a replica. */
const wipe: Actor = {
  name: 'memory is wiped',
  everyMs: [6 * DAY_MS, 20 * DAY_MS],
  act: async (stage, random) => stage.world.failover(undefined, random.integer(100, 20_000)),
};

export const STORMS: readonly Actor[] = [failover, wipe];
