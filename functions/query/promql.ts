import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type * as z from 'zod';
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
import { count } from '../../shared/platform/function-metrics';
import { countUnits } from '../../shared/platform/units';
import { parsePromql } from '../../shared/promql/parser';
import { prettyPromql } from '../../shared/promql/print';
import type { QueryRange } from '../../shared/promql/query';
import { syntaxJson } from '../../shared/promql/syntax-json';
import { compareBytes, compareLabelBytes } from '../../shared/promql/vectors';
import { findSeries, labelNames, labelValues } from '../../shared/query/browse';
import { explain } from '../../shared/query/explain';
import type { IndexView, SelectLimits } from '../../shared/query/find-series';
import type { Tenant } from '../../shared/tenancy/tenants';
import { federate } from './federate';
import { prometheusStatusHandlers } from './prometheus-status';
import { remoteRead } from './remote-read';
import { governor, metricMetadata, queriesOf, retentionMs } from './stores';

type Evaluation = z.output<typeof instantParameters> | z.output<typeof rangeParameters>;

async function respondToQuery(
  tenant: Tenant,
  { timeout: timeoutMs, limit, stats, explain: wantsExplanation, ...given }: Evaluation,
  times: number | QueryRange,
) {
  if (timeoutMs !== undefined && timeoutMs <= 0) throw invalidParameter('timeout', 'must be positive');
  const usedUnits = wantsExplanation ? countUnits() : undefined;
  const { result, reads, ...durations } = await queriesOf(tenant).promql(given.query, times, {
    timeoutMs,
    lookbackMs: given.lookback_delta,
    resolution: given.max_source_resolution,
  });
  count('query', { Reads: 1, SamplesRead: result.samples });
  const explanation = usedUnits && explain(reads, usedUnits());
  const atMs = typeof times === 'number' ? times : times.startMs;
  const response = queryResponse(result, limit, atMs, stats ? durations : undefined, explanation);
  const range = {
    fromMs: Math.min(...reads.map(({ range }) => range.fromMs)),
    toMs: Math.max(...reads.map(({ range }) => range.toMs)),
  };
  return {
    ...response,
    headers: { ...response.headers, 'server-timing': serverTiming(reads, range, governor.waitedMs) },
  };
}

const instant = (tenant: Tenant, query: z.output<typeof instantParameters>) =>
  respondToQuery(tenant, query, query.time ?? Date.now());

const range = (tenant: Tenant, query: z.output<typeof rangeParameters>) =>
  respondToQuery(tenant, query, queryRangeOf(query));

type Browsing = z.output<typeof browsingQuery>;

/** Answers from the index of series. The view contains the series that may have samples between `start` and `end`. */
function browseView(
  tenant: Tenant,
  { start, end }: Pick<Browsing, 'start' | 'end'>,
  respond: (view: IndexView, limits: SelectLimits) => APIGatewayProxyStructuredResultV2,
) {
  const nowMs = Date.now();
  const requested = { fromMs: start ?? nowMs - retentionMs, toMs: (end ?? nowMs) + 1 };
  if (requested.toMs <= requested.fromMs)
    throw invalidParameter('end', 'end timestamp must not be before start time');
  return queriesOf(tenant).browse(requested, respond);
}

async function series(tenant: Tenant, query: Browsing) {
  const selectors = matcherSetsOf(query['match[]']);
  if (selectors.length === 0) throw new HttpError(400, 'no match[] parameter provided');
  return browseView(tenant, query, (view, limits) => {
    const found = findSeries(view, selectors, limits).sort(compareLabelBytes);
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
