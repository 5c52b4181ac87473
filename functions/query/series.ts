import { seriesOf } from '../../shared/catalogue/source-series';
import type { RouteHandlers } from '../../shared/http/handler';
import { reply } from '../../shared/http/http';
import { sourceOf } from '../../shared/model/labels';
import { catalogueOf } from './stores';

export const seriesHandlers: RouteHandlers = {
  'GET /api/v1/series': async ({ tenant, query: { label } }) => {
    const known = await catalogueOf(tenant, sourceOf.labels(label));
    return reply(200, { series: seriesOf(known).map((labels) => Object.fromEntries(labels)) });
  },
};
