import { connectHot } from '../hot/connection';
import { HotTier } from '../hot/hot-tier';
import { settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { meterRedis } from '../platform/units';

/** The memory tier. Its keys live as long as the stream remembers, so that whatever vanishes can be replayed. */
export function hotTier(): HotTier {
  return new HotTier(meterRedis(connectHot(variable(ENV.redis))), settings().streamRetention);
}
