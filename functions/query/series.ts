import { MAX_PAGE_SERIES } from '../../shared/http/contract/series';
import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply } from '../../shared/http/http';
import { SelectLimitError } from '../../shared/query/find-series';
import { listSeries } from '../../shared/query/list-series';
import { dependencies } from './stores';

export const seriesHandlers: RouteHandlers = {
  'GET /api/v1/series': async ({ tenant, query }) => {
    const {
      label: labels = [],
      prefix = '',
      perSource = MAX_PAGE_SERIES,
      limit = MAX_PAGE_SERIES,
      next: from,
    } = query;
    const filter = { labels, prefix, perSource };
    const listing = listSeries(dependencies, tenant.id, filter, limit, from);
    const { series, next } = await listing.catch((error: unknown) => {
      if (error instanceof SelectLimitError)
        throw new HttpError(400, `${error.message}, or name a host by label=host=`);
      throw error;
    });
    return reply(200, {
      series: series.map((each) => Object.fromEntries(each)),
      ...(next && { next: `${next.sourceId}.${next.listed}` }),
    });
  },
};
