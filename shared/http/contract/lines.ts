import * as z from 'zod';
import { type Labels, labelsOf, METRIC_NAME } from '../../model/labels';
import { PRECISIONS } from '../../protocol/influx/line-protocol';
import { metrics, metricsQuery } from './metrics';

/** What InfluxDB's clients say beside it, such as `bucket` and `org`, is let be. */
export const writeQuery = z.object({
  precision: z.enum(PRECISIONS).default('ns').meta({ description: 'What timestamps count.' }),
});

/** How InfluxDB 1 and 2 say which lines they did not take. */
export const refusal1 = z.object({ error: z.string() }).meta({ id: 'LinesRefused' });
export const refusal2 = z
  .object({ code: z.literal('invalid'), message: z.string(), line: z.int().min(1).optional() })
  .meta({ id: 'LinesRefused2' });

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
  .meta({ description: 'name=value; beside the name every label of the series, in any order.' });

export const seriesQuery = z.object({ label: labels });
export const seriesMetricsQuery = metricsQuery.extend({ label: labels });

export const series = z
  .object({
    series: z.array(z.record(z.string(), z.string())).meta({ description: 'Labels, __name__ among them.' }),
  })
  .meta({ id: 'SeriesList' });

export const seriesMetrics = metrics
  .extend({
    metrics: z
      .array(
        z.object({
          time: z.number().meta({ description: 'Seconds since epoch, with ms.' }),
          value: z.number().nullable(),
        }),
      )
      .meta({ description: 'Ascending.' }),
  })
  .meta({ id: 'SeriesMetrics' });
