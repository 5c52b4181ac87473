import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply } from '../../shared/http/http';
import { sourceOf } from '../../shared/model/labels';
import { mapLimited } from '../../shared/platform/concurrency';
import { readLatest } from '../../shared/query/latest';
import { dependencies, hosts } from './stores';

/** Maximum number of pairs of host and metric name in one request. mkr requests at most 100 hosts at a time. */
const MAX_PAIRS = 10_000;
/** Number of hosts that are read at the same time. */
const PARALLEL = 8;

export const latestHandlers: RouteHandlers = {
  'GET /api/v0/tsdb/latest': async ({ tenant, query }) => {
    const hostIds = [...new Set(query.hostId)];
    const names = [...new Set(query.name)];
    if (hostIds.length * names.length > MAX_PAIRS)
      throw new HttpError(
        400,
        `hostId, name: ${hostIds.length} hosts x ${names.length} names exceed ${MAX_PAIRS} pairs; ask for fewer`,
      );
    const found = await mapLimited(hostIds, PARALLEL, async (hostId) => {
      if ((await hosts.get(tenant.id, hostId)) === undefined) return [hostId, {}] as const;
      const latest = await readLatest(dependencies, tenant, sourceOf.host(hostId), names, Date.now());
      return [hostId, Object.fromEntries(latest)] as const;
    });
    return reply(200, { tsdbLatest: Object.fromEntries(found) });
  },
};
