import type { Route } from './route';

/** Prometheus' API, below a path of its own as other servers have it. */
export const PROMETHEUS = '/prometheus/api/v1';

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
] as const satisfies readonly Route[];
