import * as z from 'zod';
import { showText } from '../../model/shown-value';
import { parseDurationMs } from '../../promql/numbers';
import { PROMETHEUS, PROMETHEUS_ROOT } from './prometheus';
import type { Route } from './route';

/** Latest time that a JavaScript `Date` can represent, as Unix time in ms. */
const MAX_TIME_MS = 8.64e15;

/**
 * A time parameter, as Unix time in ms. Clients write it as seconds with an optional fraction, or as RFC 3339. An empty
 * parameter counts as absent.
 */
const time = z
  .string()
  .transform((text, context) => {
    if (text === '') return undefined;
    const isSeconds = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);
    const isDate = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(text);
    const ms = isSeconds ? Math.round(Number(text) * 1000) : isDate ? Date.parse(text) : Number.NaN;
    if (Math.abs(ms) <= MAX_TIME_MS) return ms;
    context.addIssue({
      code: 'custom',
      message: `cannot parse ${showText(text)} to a valid timestamp; expected a Unix time in seconds or RFC 3339`,
      input: text,
    });
    return z.NEVER;
  })
  .meta({ examples: ['1435781451.781', '2015-07-01T20:10:51.781Z'] });

/**
 * A duration parameter, in ms. Clients write it as seconds with an optional fraction, or as text such as `1h30m`. An
 * empty parameter counts as absent.
 */
const duration = z
  .string()
  .transform((text, context) => {
    if (text === '') return undefined;
    const isSeconds = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);
    const ms = isSeconds ? Math.trunc(Number(text) * 1000) : parseDurationMs(text);
    if (typeof ms === 'number' && Math.abs(ms) <= MAX_TIME_MS) return ms;
    context.addIssue({
      code: 'custom',
      message: `cannot parse ${showText(text)} to a valid duration; expected seconds or a duration such as 1h30m`,
      input: text,
    });
    return z.NEVER;
  })
  .meta({ examples: ['60', '1h30m'] });

const limit = z
  .string()
  .regex(/^\d{0,15}$/, 'limit must be non-negative, and an integer')
  .transform(Number)
  .optional()
  .meta({ description: 'Maximum number of entries in the response; 0 returns all.' });

const selectors = z
  .array(z.string())
  .optional()
  .meta({ description: 'Series selectors. A series matches if any of them selects it.' });

const resolution = z
  .string()
  .transform((text, context) => {
    if (text === 'auto') return 'auto' as const;
    const parsed = duration.safeParse(text);
    if (parsed.success && (parsed.data ?? 0) >= 0) return parsed.data ?? 0;
    context.addIssue({
      code: 'custom',
      message: parsed.success
        ? "negative 'max_source_resolution' is not accepted. Try a positive integer"
        : parsed.error.issues[0]!.message,
      input: text,
    });
    return z.NEVER;
  })
  .meta({
    examples: ['auto', '1h', '300'],
    description:
      'The longest rollup (hour or day) to which a query over more than three days may widen its ranges: 0 (default) for none, a ' +
      'duration, or auto: a fifth of the step, as in Thanos, and at least an hour if the step is an hour or more. If ranges were ' +
      'widened, infos says so. Ranges of whole hours or days always use rollups, whose result is then the same as from samples.',
  });

const evaluation = {
  query: z.string().meta({ description: 'PromQL.' }),
  timeout: duration.optional().meta({ description: 'Time limit; at most 25 s, which is the default.' }),
  limit,
  lookback_delta: duration
    .optional()
    .meta({ description: 'How far back an instant looks for the latest sample. Default: 5 m.' }),
  stats: z
    .string()
    .optional()
    .meta({ description: 'Any value adds timing and sample statistics to the response.' }),
  max_source_resolution: resolution.optional(),
  explain: z
    .string()
    .optional()
    .meta({
      description:
        'Any value adds what the query read. For each selector: its series and rounds, whether it read samples or rollups and why, samples, ' +
        'places and bytes by tier, and an upper bound of its cost. For the whole query: calls to memory and DynamoDB, read units, S3 requests and dollars.',
    }),
};

export const instantParameters = z.object({
  ...evaluation,
  time: time.optional().meta({ description: 'Default: now.' }),
});
export const rangeParameters = z.object({ ...evaluation, start: time, end: time, step: duration });
const range = { start: time.optional(), end: time.optional() };
export const browsingQuery = z.object({ 'match[]': selectors, ...range, limit });
const exemplars = z.object({
  query: z.string().optional(),
  start: z.string().optional(),
  end: z.string().optional(),
});
const formatted = z.object({ query: z.string() });
export const metadataQuery = z.object({
  limit,
  limit_per_metric: limit.meta({ description: 'Ignored: each metric has one entry.' }),
  metric: z.string().optional().meta({ description: 'Only this metric family.' }),
});
const cardinality = z.object({ limit });

const success = z
  .object({
    status: z.literal('success'),
    data: z.unknown(),
    warnings: z.array(z.string()).optional(),
    infos: z.array(z.string()).optional(),
  })
  .meta({ id: 'PrometheusResponse' });

const common = {
  right: 'read',
  function: 'query',
  response: success,
  errors: 'prometheus',
  crossOrigin: true,
} as const;
/** Parameters of a POST may also come in a form body, which takes precedence over the query string. */
const posted = { ...common, method: 'POST', isForm: true } as const;
const got = { ...common, method: 'GET' } as const;
const instantRoute = { path: `${PROMETHEUS}/query`, readsSamples: true, query: instantParameters } as const;
const rangeRoute = { path: `${PROMETHEUS}/query_range`, readsSamples: true, query: rangeParameters } as const;

const summaries = {
  query: 'Evaluate PromQL at one time',
  range: 'Evaluate PromQL at every step of a range',
  series: 'List series by selectors',
  labels: 'List names of labels',
  exemplars: 'List exemplars: always empty',
  format: 'Format PromQL',
  parse: 'Parse PromQL',
};

/** Prometheus' query API, as used by Grafana's data source. */
export const promqlRoutes = [
  { ...got, ...instantRoute, summary: summaries.query },
  { ...posted, ...instantRoute, summary: summaries.query },
  { ...got, ...rangeRoute, summary: summaries.range },
  { ...posted, ...rangeRoute, summary: summaries.range },
  { ...got, path: `${PROMETHEUS}/series`, summary: summaries.series, query: browsingQuery },
  { ...posted, path: `${PROMETHEUS}/series`, summary: summaries.series, query: browsingQuery },
  { ...got, path: `${PROMETHEUS}/labels`, summary: summaries.labels, query: browsingQuery },
  { ...posted, path: `${PROMETHEUS}/labels`, summary: summaries.labels, query: browsingQuery },
  {
    ...got,
    path: `${PROMETHEUS}/label/{name}/values`,
    summary: 'List values of a label',
    query: browsingQuery,
  },
  {
    ...got,
    path: `${PROMETHEUS}/metadata`,
    summary: 'List types, units and help texts of metrics',
    query: metadataQuery,
  },
  { ...got, path: `${PROMETHEUS}/query_exemplars`, summary: summaries.exemplars, query: exemplars },
  { ...posted, path: `${PROMETHEUS}/query_exemplars`, summary: summaries.exemplars, query: exemplars },
  { ...got, path: `${PROMETHEUS}/format_query`, summary: summaries.format, query: formatted },
  { ...posted, path: `${PROMETHEUS}/format_query`, summary: summaries.format, query: formatted },
  { ...got, path: `${PROMETHEUS}/parse_query`, summary: summaries.parse, query: formatted },
  { ...posted, path: `${PROMETHEUS}/parse_query`, summary: summaries.parse, query: formatted },
  { ...got, path: `${PROMETHEUS}/targets`, summary: 'List scrape targets: always empty' },
  { ...got, path: `${PROMETHEUS}/features`, summary: 'List the supported features of Prometheus' },
  {
    ...got,
    path: `${PROMETHEUS}/status/runtimeinfo`,
    summary: 'Read the time of the server and how long it keeps samples',
  },
  { ...got, path: `${PROMETHEUS}/status/config`, summary: 'Read the configuration: always empty' },
  {
    ...got,
    path: `${PROMETHEUS}/status/buildinfo`,
    summary: 'Read the version of Prometheus whose API this is',
  },
  {
    ...got,
    path: `${PROMETHEUS}/status/tsdb`,
    summary: 'Count series by name, label and pair',
    query: cardinality,
  },
  {
    method: 'POST',
    path: `${PROMETHEUS}/read`,
    right: 'read',
    function: 'query',
    readsSamples: true,
    summary: 'Prometheus remote read: samples, or streamed chunks, of a protobuf message in a snappy block',
    rawBody: 'application/x-protobuf',
    errors: 'prometheus',
  },
  {
    method: 'GET',
    path: `${PROMETHEUS_ROOT}/federate`,
    isText: true,
    right: 'read',
    function: 'query',
    readsSamples: true,
    summary: 'Read the latest sample of each selected series, for another Prometheus server to scrape',
    query: z.object({ 'match[]': selectors }),
    errors: 'prometheus',
  },
] as const satisfies readonly Route[];
