import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type * as z from 'zod';
import { GRAINS_MS } from '../../shared/cold/rollup-span';
import type {
  browsingQuery,
  instantParameters,
  metadataQuery,
  rangeParameters,
} from '../../shared/http/contract/promql';
import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError } from '../../shared/http/http';
import {
  invalidParameter,
  matcherSetsOf,
  queryRangeOf,
  unescapeLabelName,
} from '../../shared/http/prometheus-parameters';
import {
  metricJson,
  prometheusResponse,
  queryResponse,
  truncate,
} from '../../shared/http/prometheus-response';
import { serverTiming } from '../../shared/http/server-timing';
import { DAY_MS } from '../../shared/model/duration';
import { count } from '../../shared/platform/function-metrics';
import { countUnits } from '../../shared/platform/units';
import { PromqlError } from '../../shared/promql/errors';
import { parsePromql } from '../../shared/promql/parser';
import { prettyPromql } from '../../shared/promql/print';
import { instantQuery, type QueryOptions, type QueryResult, rangeQuery } from '../../shared/promql/query';
import { grainWithin } from '../../shared/promql/resolution';
import { syntaxJson } from '../../shared/promql/syntax-json';
import { compareBytes, compareLabelBytes } from '../../shared/promql/vectors';
import { findSeries, labelNames, labelValues } from '../../shared/query/browse';
import { explain } from '../../shared/query/explain';
import type { IndexView } from '../../shared/query/find-series';
import { FEW_DAYS } from '../../shared/query/plan';
import type { TierSamples } from '../../shared/query/tier-samples';
import type { Tenant } from '../../shared/tenancy/tenants';
import { federate } from './federate';
import { prometheusStatusHandlers } from './prometheus-status';
import { remoteRead } from './remote-read';
import { dependencies, governor, metricMetadata, retentionMs } from './stores';
import { browse, budgetOf, queryLimitsOf, samplesOf, selectLimitsOf } from './tenant-samples';

/** Minimum length of a range that may be read from rollups instead of samples, in ms. */
const LEAST_ROLLED_MS = FEW_DAYS * DAY_MS;
const WIDENING =
  '; more than three days are read from rollups where start, step and ranges are multiples of an hour, ' +
  'and with max_source_resolution=auto everywhere, with ranges widened to hours';

type Evaluation = z.output<typeof instantParameters> | z.output<typeof rangeParameters>;

async function respondToQuery(
  tenant: Tenant,
  { timeout, lookback_delta: lookbackMs, limit, stats, explain: wantsExplanation, ...given }: Evaluation,
  atMs: number,
  stepMs: number | undefined,
  run: (store: TierSamples, options: QueryOptions) => Promise<QueryResult>,
) {
  if (timeout !== undefined && timeout <= 0) throw invalidParameter('timeout', 'must be positive');
  const budgetMs = Math.min(timeout ?? Infinity, 1000 * selectLimitsOf(tenant).querySeconds);
  const budget = budgetOf(tenant, budgetMs);
  const storedMs = dependencies.rollups === undefined ? [] : GRAINS_MS;
  const widenedMs = grainWithin(given.max_source_resolution ?? 0, stepMs, storedMs);
  const store = samplesOf(tenant, budget, widenedMs === undefined && storedMs.length > 0 ? WIDENING : '');
  const rollups =
    storedMs.length === 0 ? undefined : { grainsMs: storedMs, widenedMs, leastRangeMs: LEAST_ROLLED_MS };
  const options: QueryOptions = {
    rollups,
    ...(lookbackMs !== undefined && lookbackMs > 0 && { lookbackMs }),
    limits: queryLimitsOf(tenant),
    isLate: budget.isLate,
  };
  const startedMs = performance.now();
  const usedUnits = wantsExplanation ? countUnits() : undefined;
  const result = await withTimeout(budgetMs, run(store, options)).catch((error: unknown) => {
    store.stop(error);
    throw error;
  });
  const totalMs = performance.now() - startedMs;
  count('query', { Reads: 1, SamplesRead: result.samples });
  const times = stats ? { readMs: store.readUntilMs(startedMs) - startedMs, totalMs } : undefined;
  const explanation = usedUnits && explain(store.results, usedUnits());
  const response = queryResponse(result, limit, atMs, times, explanation);
  const range = {
    fromMs: Math.min(...store.results.map(({ range }) => range.fromMs)),
    toMs: Math.max(...store.results.map(({ range }) => range.toMs)),
  };
  return {
    ...response,
    headers: { ...response.headers, 'server-timing': serverTiming(store.results, range, governor.waitedMs) },
  };
}

/** Fails with a timeout if `work` takes longer than `ms`, without waiting for `work` to end. */
async function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new PromqlError('timeout', 'query timed out in query execution')), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function instant(tenant: Tenant, query: z.output<typeof instantParameters>) {
  const atMs = query.time ?? Date.now();
  return respondToQuery(tenant, query, atMs, undefined, (store, options) =>
    instantQuery(store, query.query, atMs, options),
  );
}

function range(tenant: Tenant, query: z.output<typeof rangeParameters>) {
  const steps = queryRangeOf(query);
  return respondToQuery(tenant, query, steps.startMs, steps.stepMs, (store, options) =>
    rangeQuery(store, query.query, steps, options),
  );
}

type Browsing = z.output<typeof browsingQuery>;

/** Answers from the index of series. The view contains the series that may have samples between `start` and `end`. */
function browseView(
  tenant: Tenant,
  { start, end }: Pick<Browsing, 'start' | 'end'>,
  respond: (view: IndexView) => APIGatewayProxyStructuredResultV2,
) {
  const nowMs = Date.now();
  const requested = { fromMs: start ?? nowMs - retentionMs, toMs: (end ?? nowMs) + 1 };
  if (requested.toMs <= requested.fromMs)
    throw invalidParameter('end', 'end timestamp must not be before start time');
  return browse(tenant, requested, respond);
}

async function series(tenant: Tenant, query: Browsing) {
  const selectors = matcherSetsOf(query['match[]']);
  if (selectors.length === 0) throw new HttpError(400, 'no match[] parameter provided');
  return browseView(tenant, query, (view) => {
    const found = findSeries(view, selectors, selectLimitsOf(tenant)).sort(compareLabelBytes);
    const { kept, warnings } = truncate(found, query.limit);
    return prometheusResponse(`[${kept.map(metricJson).join(',')}]`, { warnings });
  });
}

function respondWithNames(names: readonly string[], limit: number | undefined) {
  const { kept, warnings } = truncate([...names].sort(compareBytes), limit);
  return prometheusResponse(JSON.stringify(kept), { warnings });
}

async function labels(tenant: Tenant, query: Browsing) {
  const selectors = matcherSetsOf(query['match[]']);
  return browseView(tenant, query, (view) => respondWithNames(labelNames(view, selectors), query.limit));
}

async function metadata(tenant: Tenant, { metric, limit }: z.output<typeof metadataQuery>) {
  const found = metric
    ? [await metricMetadata.of(tenant.id, metric)].filter((each) => each !== undefined)
    : await metricMetadata.list(tenant.id);
  // List exactly one entry for each family: an empty list would break Grafana.
  const { kept } = truncate(found, limit);
  const entries = kept.map(({ family, type, help, unit }) => [family, [{ type, help, unit }]]);
  return prometheusResponse(JSON.stringify(Object.fromEntries(entries)));
}

const exemplars = async () => prometheusResponse('[]');

const format = async ({ query: { query } }: { readonly query: { readonly query: string } }) =>
  prometheusResponse(JSON.stringify(prettyPromql(parsePromql(query))));

const parse = async ({ query: { query } }: { readonly query: { readonly query: string } }) =>
  prometheusResponse(JSON.stringify(syntaxJson(parsePromql(query))));

/** Prometheus' API. Series, names and values are read from the tenant's index, without reading samples. */
export const promqlHandlers: RouteHandlers = {
  'GET /prometheus/api/v1/query': async ({ tenant, query }) => instant(tenant, query),
  'POST /prometheus/api/v1/query': async ({ tenant, query }) => instant(tenant, query),
  'GET /prometheus/api/v1/query_range': async ({ tenant, query }) => range(tenant, query),
  'POST /prometheus/api/v1/query_range': async ({ tenant, query }) => range(tenant, query),
  'GET /prometheus/api/v1/series': async ({ tenant, query }) => series(tenant, query),
  'POST /prometheus/api/v1/series': async ({ tenant, query }) => series(tenant, query),
  'GET /prometheus/api/v1/labels': async ({ tenant, query }) => labels(tenant, query),
  'POST /prometheus/api/v1/labels': async ({ tenant, query }) => labels(tenant, query),
  'GET /prometheus/api/v1/label/{name}/values': async ({ tenant, path, query }) => {
    const selectors = matcherSetsOf(query['match[]']);
    const name = unescapeLabelName(path.name);
    return browseView(tenant, query, (view) =>
      respondWithNames(labelValues(view, name, selectors), query.limit),
    );
  },
  'GET /prometheus/api/v1/metadata': async ({ tenant, query }) => metadata(tenant, query),
  'GET /prometheus/api/v1/query_exemplars': exemplars,
  'POST /prometheus/api/v1/query_exemplars': exemplars,
  'GET /prometheus/api/v1/format_query': format,
  'POST /prometheus/api/v1/format_query': format,
  'GET /prometheus/api/v1/parse_query': parse,
  'POST /prometheus/api/v1/parse_query': parse,
  'POST /prometheus/api/v1/read': async ({ tenant, event }) => remoteRead(tenant, event),
  'GET /prometheus/federate': async ({ tenant, query, event }) =>
    federate(tenant, matcherSetsOf(query['match[]']), event.headers.accept),
  ...prometheusStatusHandlers,
};
