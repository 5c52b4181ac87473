import { useState } from 'preact/hooks';
import type { Api, Host } from '../api/api';
import type { Result } from '../api/promql-results';
import { type OnSettled, usePolling } from '../frame/polling';

/** Nearly every agent posts one of these metrics. */
const USUAL_METRICS = 'loadavg5|processor_queue_length';
/**
 * How far back the page looks for posts, in seconds. At least the newest part of this time is still in
 * memory.
 */
export const LOOKBACK_S = 3600;
/** Maximum number of hosts without usual metrics whose other metrics are read. */
const MAX_OTHERS = 50;
const EVERY_MS = 60_000;
const TIMEOUT_MS = 20_000;

/**
 * Reads when each host last posted, as Unix time in seconds. Hosts that posted nothing in the last
 * {@link LOOKBACK_S} are absent. Returns undefined until the first response.
 */
export function useLastSeen(
  api: Api,
  hosts: readonly Host[] | undefined,
  onSettled: OnSettled,
): ReadonlyMap<string, number> | undefined {
  const [seen, setSeen] = useState<ReadonlyMap<string, number>>();
  const ids = hosts?.map(({ id }) => id).join();
  usePolling(
    [api, ids],
    async () => {
      if (hosts === undefined || hosts.length === 0) return undefined;
      const found = await readLastSeen(api, `__name__=~"${USUAL_METRICS}",host!=""`);
      const others = hosts.filter(({ id }) => !found.has(id)).slice(0, MAX_OTHERS);
      if (others.length === 0) return found;
      const ofOthers = `__name__!="",host=~"${others.map(({ id }) => id).join('|')}"`;
      return new Map([...found, ...(await readLastSeen(api, ofOthers))]);
    },
    (found) => {
      setSeen(found);
      return found !== undefined;
    },
    onSettled,
    EVERY_MS,
  );
  return seen;
}

async function readLastSeen(api: Api, matchers: string): Promise<Map<string, number>> {
  const fields = {
    query: `max by (host) (timestamp({${matchers}}))`,
    lookback_delta: `${LOOKBACK_S}s`,
  };
  const { data } = await api.prometheus<Result>('query', fields, AbortSignal.timeout(TIMEOUT_MS));
  if (data.resultType !== 'vector') return new Map();
  return new Map(data.result.map(({ metric, value: [, timeS] }) => [metric.host ?? '', Number(timeS)]));
}
