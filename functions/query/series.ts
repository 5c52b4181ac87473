import { MAX_SERIES } from '../../shared/http/contract/series';
import type { RouteHandlers } from '../../shared/http/handler';
import { reply } from '../../shared/http/http';
import { listSeries } from '../../shared/query/list-series';
import { dependencies } from './stores';

export const seriesHandlers: RouteHandlers = {
  'GET /api/v1/series': async ({ tenant, query }) => {
    const { label: labels = [], prefix = '', perSource = MAX_SERIES, limit = MAX_SERIES, next: from } = query;
    const filter = { labels, prefix, perSource };
    const { series, next } = await listSeries(dependencies, tenant.id, filter, limit, from);
    return reply(200, {
      series: series.map((each) => Object.fromEntries(each)),
      ...(next && { next: `${next.sourceId}.${next.listed}` }),
    });
  },
};
