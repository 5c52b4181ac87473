import type { Route } from './route';

/** Root of Prometheus' API. Like the APIs of Mimir and Cortex, it has a prefix. */
export const PROMETHEUS_ROOT = '/prometheus';
export const PROMETHEUS = `${PROMETHEUS_ROOT}/api/v1` as const;

export const prometheusRoutes = [
  {
    method: 'POST',
    path: `${PROMETHEUS}/write`,
    right: 'write',
    function: 'post',
    budgets: ['samplesPerMinute'],
    summary: 'Post Prometheus remote write 1.0 or 2.0: a protobuf message in a snappy block',
    rawBody: 'application/x-protobuf',
    status: 204,
  },
  {
    method: 'GET',
    path: PROMETHEUS_ROOT,
    right: 'none',
    function: 'registry',
    summary: 'Redirect to the web page, as Prometheus does',
    status: 302,
  },
  {
    method: 'GET',
    path: `${PROMETHEUS_ROOT}/-/healthy`,
    isText: true,
    right: 'none',
    function: 'registry',
    summary: 'Report healthy, as Prometheus does; reads no store',
  },
  {
    method: 'GET',
    path: `${PROMETHEUS_ROOT}/-/ready`,
    isText: true,
    right: 'none',
    function: 'registry',
    summary: 'Report ready, as Prometheus does; reads no store',
  },
] as const satisfies readonly Route[];
