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
    summary: 'Prometheus remote write 1.0 and 2.0: a protobuf message in a snappy block',
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
    summary: 'Answer as a healthy Prometheus does; asks no store',
  },
  {
    method: 'GET',
    path: `${PROMETHEUS_ROOT}/-/ready`,
    isText: true,
    right: 'none',
    function: 'registry',
    summary: 'Answer as a Prometheus that is ready does; asks no store',
  },
] as const satisfies readonly Route[];
