import { connectHot } from '../hot/connection';
import { HotTier } from '../hot/hot-tier';
import { type CallTimes, WORKING } from '../platform/call-time';
import { settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { meterRedis } from '../platform/units';

/**
 * Makes the client of the memory tier. A frame that no flusher moves stays in memory for as long as the stream keeps
 * records.
 */
export function hotTier({ commandMs }: CallTimes = WORKING, mayRead?: () => Promise<void>): HotTier {
  const client = connectHot(variable(ENV.redis), process.env, commandMs);
  return new HotTier(meterRedis(client), settings().streamRetention, mayRead);
}
