import * as z from 'zod';
import { type Labels, labelsOf, METRIC_NAME } from '../../model/labels';
import { metrics, metricsQuery } from './metrics';
import type { Route } from './route';

/** `label=host=web1&label=cpu=cpu0`: a label's name ends at the first equals sign. */
const labels = z
  .array(z.string().regex(/^[^=]+=/, 'expected name=value'))
  .min(1)
  .transform((texts, context): Labels => {
    const pairs = texts.map((text) => {
      const equals = text.indexOf('=');
      return [text.slice(0, equals), text.slice(equals + 1)] as const;
    });
    const names = new Set(pairs.map(([name]) => name));
    if (names.size === pairs.length && !names.has(METRIC_NAME)) return labelsOf(...pairs);
    context.addIssue({
      code: 'custom',
      message: `expected labels with different names, none of them ${METRIC_NAME}`,
    });
    return z.NEVER;
  })
  .meta({ description: 'name=value; every label of the series but its name, in any order.' });

const listQuery = z.object({ label: labels });
const metricsByLabelsQuery = metricsQuery.extend({ label: labels });

const seriesList = z
  .object({
    series: z
      .array(z.record(z.string(), z.string()))
      .meta({ description: 'Labels of each series, __name__ included.' }),
  })
  .meta({ id: 'SeriesList' });

const seriesMetrics = metrics
  .extend({
    metrics: z
      .array(
        z.object({
          time: z.number().meta({ description: 'Seconds since epoch, to the ms.' }),
          value: z.number().nullable(),
        }),
      )
      .meta({ description: 'Ascending.' }),
  })
  .meta({ id: 'SeriesMetrics' });

export const seriesRoutes = [
  {
    method: 'GET',
    path: '/api/v1/series',
    right: 'read',
    function: 'query',
    summary: 'List the series of a host, or of the source with exactly these labels',
    query: listQuery,
    answer: seriesList,
  },
  {
    method: 'GET',
    path: '/api/v1/series/metrics',
    right: 'read',
    function: 'query',
    summary: 'Read a series by its labels',
    query: metricsByLabelsQuery,
    answer: seriesMetrics,
  },
] as const satisfies readonly Route[];
