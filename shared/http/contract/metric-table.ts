import * as z from 'zod';
import { metricsQuery } from './metrics';
import type { Route } from './route';

/** Maximum number of metrics that one request may name. */
const MAX_NAMES = 100;

export const metricTableQuery = metricsQuery.extend({
  name: z.array(z.string().min(1)).min(1).max(MAX_NAMES),
  step: metricsQuery.shape.step.meta({
    description: 'Step in seconds; the response has one sample per step. Default: samples as stored.',
  }),
});

const unixMs = z.int().meta({ description: 'Unix time in ms.' });

const metricTable = z
  .object({
    times: z
      .array(unixMs)
      .meta({ description: 'Every time at which any series has a sample, in ascending order.' }),
    series: z.array(z.object({ name: z.string(), values: z.array(z.number().nullable()) })).meta({
      description: 'The metrics that exist, in the order of the request; a value or null for each time.',
    }),
    missing: z
      .object({ arrivedSinceMs: unixMs })
      .optional()
      .meta({ description: 'With `partial=true`: samples that arrived since this time may be missing.' }),
  })
  .meta({ id: 'Series' });

/** Routes that read several metrics of one source as a table, for drawing a graph. */
export const metricTableRoutes = [
  {
    method: 'GET',
    path: '/api/v1/hosts/{hostId}/metrics',
    right: 'read',
    function: 'query',
    readsSamples: true,
    summary: 'Read metrics of a host, side by side',
    query: metricTableQuery,
    response: metricTable,
  },
  {
    method: 'GET',
    path: '/api/v1/services/{serviceName}/metrics',
    right: 'read',
    function: 'query',
    readsSamples: true,
    summary: 'Read metrics of a service, side by side',
    query: metricTableQuery,
    response: metricTable,
  },
] as const satisfies readonly Route[];
