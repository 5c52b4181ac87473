import type { FunctionName } from '../platform/names';
import { alertRoutes } from './contract/alerts';
import { dashboardRoutes } from './contract/dashboards';
import { graphRoutes } from './contract/graphs';
import { hostRoutes } from './contract/hosts';
import { influxRoutes } from './contract/influx';
import { metadataRoutes } from './contract/metadata';
import { metricTableRoutes } from './contract/metric-table';
import { metricRoutes } from './contract/metrics';
import { monitoringRoutes } from './contract/monitoring';
import { monitorRoutes } from './contract/monitors';
import { otlpRoutes } from './contract/otlp';
import { prometheusRoutes } from './contract/prometheus';
import { promqlRoutes } from './contract/promql';
import type { Route } from './contract/route';
import { rulesRoutes } from './contract/rules';
import { seriesRoutes } from './contract/series';
import { serviceRoutes } from './contract/services';
import { silenceRoutes } from './contract/silences';
import { siteRoutes } from './contract/site';

export type { Route } from './contract/route';

/**
 * The HTTP API as data. Synthesis creates API Gateway's routes from this table. Functions use it to dispatch,
 * authorize and validate requests. The OpenAPI document is generated from it. The paths under /api/v0 are Mackerel's.
 *
 * @see shared/protocol/mackerel/README.md
 */
export const ROUTES = [
  ...metricRoutes,
  ...metricTableRoutes,
  ...influxRoutes,
  ...prometheusRoutes,
  ...promqlRoutes,
  ...rulesRoutes,
  ...silenceRoutes,
  ...otlpRoutes,
  ...seriesRoutes,
  ...hostRoutes,
  ...serviceRoutes,
  ...metadataRoutes,
  ...graphRoutes,
  ...alertRoutes,
  ...dashboardRoutes,
  ...monitorRoutes,
  ...monitoringRoutes,
  ...siteRoutes,
] as const satisfies readonly Route[];

/** The function that answers requests no route matches, with 404 or 405. */
export const FALLBACK_FUNCTION = 'registry' satisfies FunctionName;

/** A route's key in API Gateway: `GET /api/v0/hosts`. */
export type RouteKey = keyof RoutesByKey;

export type RoutesByKey = {
  [R in (typeof ROUTES)[number] as `${R['method']} ${R['path']}`]: R;
};
