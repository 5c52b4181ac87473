import * as z from 'zod';
import { type Labels, labelsOf, METRIC_NAME } from '../../model/labels';
import { metrics, metricsQuery } from './metrics';
import type { Route } from './route';
import { integerParameter } from './values';

/**
 * The repeatable parameter `label`, such as `label=host=web1&label=cpu=cpu0`. A label's name ends at the
 * first equals sign.
 */
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
  .meta({ description: 'name=value; every label of the series except __name__, in any order.' });

/** Maximum number of series on one page. */
export const MAX_PAGE_SERIES = 10_000;

const seriesCount = integerParameter.pipe(z.int().min(1).max(MAX_PAGE_SERIES)).optional();

/**
 * Position after a page of series, `sourceId.count`: the next page starts after the first `count` series of
 * the source.
 */
const cursor = z
  .string()
  .regex(/^[A-Za-z0-9_-]{22}\.\d{1,7}$/, 'expected the value of next in a response')
  .transform((text) => ({ sourceId: text.slice(0, 22), listed: Number(text.slice(23)) }));

const listQuery = z.object({
  label: labels.optional().meta({ description: 'name=value; only series that have each of these labels.' }),
  prefix: z.string().optional().meta({ description: 'Only series whose names begin with this prefix.' }),
  perSource: seriesCount.meta({ description: 'Maximum number of series per source; 1 lists the sources.' }),
  limit: seriesCount.meta({ description: `Maximum number of series per page. Default: ${MAX_PAGE_SERIES}.` }),
  next: cursor.optional().meta({ description: 'The `next` of the previous page.' }),
});
const metricsByLabelsQuery = metricsQuery.extend({ label: labels });

const seriesList = z
  .object({
    series: z
      .array(z.record(z.string(), z.string()))
      .meta({ description: 'Labels of each series, including __name__, grouped by source.' }),
    next: z.string().optional().meta({
      description:
        'Pass it as `next` to read the next page; absent on the last page. A page may have fewer series than the limit.',
    }),
  })
  .meta({ id: 'SeriesList' });

const seriesMetrics = metrics
  .extend({
    metrics: z
      .array(
        z.object({
          time: z.number().meta({ description: 'Unix time in seconds, with ms as decimals.' }),
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
    summary: 'List series, page by page, by name prefix and by any labels',
    query: listQuery,
    response: seriesList,
  },
  {
    method: 'GET',
    path: '/api/v1/series/metrics',
    right: 'read',
    function: 'query',
    readsSamples: true,
    summary: 'Read a series by its labels',
    query: metricsByLabelsQuery,
    response: seriesMetrics,
  },
] as const satisfies readonly Route[];
