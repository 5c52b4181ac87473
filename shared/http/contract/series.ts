import * as z from 'zod';
import { metricsQuery } from './metrics';

/** Most metrics of one request. */
const MAX_NAMES = 100;

export const seriesQuery = metricsQuery.extend({
  name: z.array(z.string().min(1)).min(1).max(MAX_NAMES),
  step: metricsQuery.shape.step.meta({
    description: 'Points of so many seconds; else samples as they are stored.',
  }),
});

const epochMs = z.int().meta({ description: 'ms since epoch.' });

export const series = z
  .object({
    times: z.array(epochMs).meta({ description: 'Ascending; every time at which any series has a sample.' }),
    series: z.array(z.object({ name: z.string(), values: z.array(z.number().nullable()) })).meta({
      description: 'Metrics that exist, in the order of the request; a value or null for each time.',
    }),
    missing: z
      .object({ arrivedSinceMs: epochMs })
      .optional()
      .meta({ description: 'With partial: samples that arrived since then may be missing.' }),
  })
  .meta({ id: 'Series' });
