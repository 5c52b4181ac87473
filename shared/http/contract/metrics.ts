import * as z from 'zod';
import { AGGREGATES } from '../../model/aggregates';
import { unixSeconds } from '../../platform/fields';
import { HOST, type Route, SERVICE } from './route';
import { durationParameter, integerParameter } from './values';

/**
 * A posted sample, as the OpenAPI document shows it. The post function validates samples itself: it drops and counts
 * invalid samples, but does not refuse the request.
 */
const postedSample = {
  type: 'object',
  properties: {
    name: { type: 'string', pattern: '^[a-zA-Z0-9._-]{1,255}$' },
    time: { type: 'integer', description: 'Unix time in seconds.' },
    value: { type: 'number' },
  },
};

const postedHostSample = {
  ...postedSample,
  properties: { hostId: { type: 'string' }, ...postedSample.properties },
};

/**
 * Schema of an array of samples, or null, which mkr sends when it has none. Only the array itself is
 * validated.
 */
const samplesOf = (sample: object) =>
  z
    .custom<readonly unknown[] | null>((value) => value === null || Array.isArray(value), {
      error: 'expected array',
    })
    .meta({
      description: 'Bad samples are dropped and counted in the response; the others are stored.',
      type: ['array', 'null'],
      items: { anyOf: [sample, {}] },
    });

const posted = z
  .object({
    success: z.literal(true),
    dropped: z
      .record(z.string(), z.int().min(1))
      .optional()
      .meta({ description: 'Number of samples dropped, by reason. Absent if none were dropped.' }),
    hint: z.string().optional().meta({ description: 'The rule that the dropped samples broke, by reason.' }),
  })
  .meta({ id: 'Posted' });

export const metricsQuery = z.object({
  name: z.string().min(1),
  from: integerParameter.meta({ description: 'Unix time in seconds, inclusive.' }),
  to: integerParameter.meta({ description: 'Unix time in seconds, inclusive.' }),
  step: durationParameter.optional().meta({
    description: 'Step in seconds; the response has one sample per step. Default: depends on the range.',
  }),
  aggregate: z
    .enum(AGGREGATES)
    .optional()
    .meta({ description: 'How to aggregate the samples of a step. Default: avg.' }),
  partial: z.enum(['true', 'false']).optional().meta({
    description: 'Return the readable samples while lost memory is being replayed, instead of a 503.',
  }),
});

/** A sample in a response. Infinities and NaN are null, because JSON has no number for them. */
const sample = z.object({ time: unixSeconds, value: z.number().nullable() }).meta({ id: 'Sample' });

export const metrics = z
  .object({
    metrics: z.array(sample).meta({ description: 'Ascending.' }),
    missing: z
      .object({ arrivedSince: unixSeconds })
      .optional()
      .meta({ description: 'With `partial=true`: samples that arrived since this time may be missing.' }),
  })
  .meta({ id: 'Metrics' });

export const latestQuery = z.object({ hostId: z.array(z.string()), name: z.array(z.string()) });

const latest = z
  .object({
    tsdbLatest: z
      .record(z.string(), z.record(z.string(), sample))
      .meta({ description: 'By host, then by name. Names without a sample in the last day are left out.' }),
  })
  .meta({ id: 'Latest' });

const metricNames = z
  .object({ names: z.array(z.string()).meta({ description: 'Sorted.' }) })
  .meta({ id: 'MetricNames' });

export const metricRoutes = [
  {
    method: 'POST',
    path: '/api/v0/tsdb',
    right: 'write',
    function: 'post',
    budgets: ['samplesPerMinute'],
    summary: 'Post metrics of hosts',
    body: samplesOf(postedHostSample),
    response: posted,
  },
  {
    method: 'POST',
    path: `${SERVICE}/tsdb`,
    right: 'write',
    function: 'post',
    budgets: ['samplesPerMinute', 'servicePostsPerMinute'],
    summary: 'Post metrics of a service',
    body: samplesOf(postedSample),
    response: posted,
  },
  {
    method: 'GET',
    path: `${HOST}/metrics`,
    right: 'read',
    function: 'query',
    readsSamples: true,
    summary: 'Read a metric of a host',
    query: metricsQuery,
    response: metrics,
  },
  {
    method: 'GET',
    path: `${SERVICE}/metrics`,
    right: 'read',
    function: 'query',
    readsSamples: true,
    summary: 'Read a metric of a service',
    query: metricsQuery,
    response: metrics,
  },
  {
    method: 'GET',
    path: '/api/v0/tsdb/latest',
    right: 'read',
    function: 'query',
    readsSamples: true,
    summary: 'Read the latest samples of hosts',
    query: latestQuery,
    response: latest,
  },
  {
    method: 'GET',
    path: `${HOST}/metric-names`,
    right: 'read',
    function: 'query',
    summary: 'List the metrics of a host',
    response: metricNames,
  },
  {
    method: 'GET',
    path: `${SERVICE}/metric-names`,
    right: 'read',
    function: 'query',
    summary: 'List the metrics of a service',
    response: metricNames,
  },
] as const satisfies readonly Route[];
