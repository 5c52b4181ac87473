import * as z from 'zod';
import { AGGREGATES } from '../../query/downsample';
import { durationParameter, epochSeconds, integerParameter } from './values';

/** One sample as posted, for the document alone: each is judged by itself, and a bad one is dropped and counted. */
const postedPoint = {
  type: 'object',
  properties: {
    name: { type: 'string', pattern: '^[a-zA-Z0-9._-]{1,255}$' },
    time: { type: 'integer', description: 'Seconds since epoch.' },
    value: { type: 'number' },
  },
};

const hostPoint = {
  ...postedPoint,
  properties: { hostId: { type: 'string' }, ...postedPoint.properties },
};

/** An array of samples, or null where a client has nothing to say. Only the array is checked here. */
const pointsOf = (point: object) =>
  z
    .custom<readonly unknown[] | null>((value) => value === null || Array.isArray(value), {
      error: 'expected array',
    })
    .meta({
      description: 'Bad samples among good ones are dropped and counted in the answer.',
      type: ['array', 'null'],
      items: { anyOf: [point, {}] },
    });

export const hostPoints = pointsOf(hostPoint);
export const servicePoints = pointsOf(postedPoint);

export const posted = z
  .object({
    success: z.literal(true),
    dropped: z
      .record(z.string(), z.int().min(1))
      .optional()
      .meta({ description: 'How many samples were dropped, by reason; absent when none was.' }),
  })
  .meta({ id: 'Posted' });

export const metricsQuery = z.object({
  name: z.string().min(1),
  from: integerParameter.meta({ description: 'Seconds since epoch, included.' }),
  to: integerParameter.meta({ description: 'Seconds since epoch, included.' }),
  step: durationParameter
    .optional()
    .meta({ description: 'Points of so many seconds; beyond Mackerel. Else it follows from the range.' }),
  aggregate: z
    .enum(AGGREGATES)
    .optional()
    .meta({ description: 'What a point says of the samples of its step; beyond Mackerel. Else their mean.' }),
  partial: z.enum(['true', 'false']).optional().meta({
    description: 'Give what is there while memory that was lost is read again; else that is a 503.',
  }),
});

/** Infinities and NaN, which Mackerel cannot post, have no number in JSON. */
const sample = z.object({ time: epochSeconds, value: z.number().nullable() }).meta({ id: 'Sample' });

export const metrics = z
  .object({
    metrics: z.array(sample).meta({ description: 'Ascending.' }),
    missing: z
      .object({ arrivedSince: epochSeconds })
      .optional()
      .meta({ description: 'With partial: samples that arrived since then may be missing.' }),
  })
  .meta({ id: 'Metrics' });

export const latestQuery = z.object({ hostId: z.array(z.string()), name: z.array(z.string()) });

export const latest = z
  .object({
    tsdbLatest: z
      .record(z.string(), z.record(z.string(), sample))
      .meta({ description: 'By host, by name; names without a sample in the last day are left out.' }),
  })
  .meta({ id: 'Latest' });

export const metricNames = z
  .object({ names: z.array(z.string()).meta({ description: 'Sorted.' }) })
  .meta({ id: 'MetricNames' });
