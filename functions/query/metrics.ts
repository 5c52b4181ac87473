import type * as z from 'zod';
import { metricNames, seriesOf } from '../../shared/catalogue/source-series';
import type { metricsQuery } from '../../shared/http/contract/metrics';
import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply } from '../../shared/http/http';
import { requireFewSteps, requireSendable } from '../../shared/http/response-limits';
import { serverTiming } from '../../shared/http/server-timing';
import { downsample, type Samples } from '../../shared/model/aggregates';
import { type Labels, labelsKey, metricOf, sourceOf } from '../../shared/model/labels';
import type { TimeRange } from '../../shared/model/selection';
import { showText } from '../../shared/model/shown-value';
import { count } from '../../shared/platform/function-metrics';
import { planShown } from '../../shared/query/plan';
import { earliestMissing } from '../../shared/query/read';
import type { Tenant } from '../../shared/tenancy/tenants';
import { readableRange, readShown, requestedRange, type ShownSlice } from './reading';
import { catalogueOf, governor, hostSource, type RegisteredSource, serviceSource } from './stores';

/** Routes that read one metric in Mackerel's format, or one series with any labels. */
export const metricHandlers: RouteHandlers = {
  'GET /api/v0/hosts/{hostId}/metrics': async ({ tenant, path, query }) =>
    registeredMetric(hostSource(tenant, path.hostId), query),
  'GET /api/v0/services/{serviceName}/metrics': async ({ tenant, path, query }) =>
    registeredMetric(serviceSource(tenant, path.serviceName), query),

  'GET /api/v0/hosts/{hostId}/metric-names': async ({ tenant, path }) =>
    namesOf(hostSource(tenant, path.hostId)),
  'GET /api/v0/services/{serviceName}/metric-names': async ({ tenant, path }) =>
    namesOf(serviceSource(tenant, path.serviceName)),

  'GET /api/v1/series/metrics': async ({ tenant, query }) => {
    const absent = `there is no series ${showText(query.name)} of exactly these labels`;
    const read = await readMetric(tenant, query.label, query, absent);
    return metricsResponse(read, (ms) => ms / 1000);
  },
};

type MetricsQuery = z.output<typeof metricsQuery>;

interface MetricRead {
  readonly range: TimeRange;
  readonly slices: readonly ShownSlice<Samples>[];
}

/** Reads one metric. The response has times in whole seconds, as in Mackerel's API. */
async function registeredMetric({ tenant, labels, text, mustExist }: RegisteredSource, query: MetricsQuery) {
  const absent = `${text} has no metric ${showText(query.name)}`;
  const read = await readMetric(tenant, labels, query, absent, mustExist);
  return metricsResponse(read, (ms) => Math.floor(ms / 1000));
}

/**
 * Reads one series.
 *
 * @param labels all labels of the series except its name
 * @param absent first sentence of the message if the series does not exist
 * @param mustExist rejects if the source does not exist; awaited before samples are read
 */
async function readMetric(
  tenant: Tenant,
  labels: Labels,
  { name, step, aggregate, partial, ...requested }: MetricsQuery,
  absent: string,
  mustExist?: () => Promise<void>,
): Promise<MetricRead> {
  const series = metricOf(labels, name);
  const source = sourceOf.labels(labels);
  const { range: whole, stepMs } = planShown(requestedRange(requested), step, aggregate !== undefined);
  const range = readableRange(whole);
  const [known] = await Promise.all([catalogueOf(tenant, source), mustExist?.()]);
  if (!seriesOf(known).some((other) => labelsKey(other) === labelsKey(series)))
    throw new HttpError(404, `${absent}; samples appear within a second or two after a post`);
  if (stepMs !== undefined) requireFewSteps(1, stepMs, range, known.firstMs);
  const shownAs = { stepMs, aggregate, partial };
  const slices = await readShown(tenant, { source, series: [series], known }, range, shownAs, ([samples]) => {
    count('query', { SamplesRead: samples!.timestamps.length });
    return stepMs === undefined ? samples! : downsample(samples!, stepMs, aggregate);
  });
  count('query', { Reads: 1 });
  return { range, slices };
}

function metricsResponse({ slices, range }: MetricRead, secondsOf: (ms: number) => number) {
  requireSendable(slices.reduce((sum, { shown }) => sum + shown.timestamps.length, 0));
  const metrics = slices.flatMap(({ shown: { timestamps, values } }) =>
    Array.from(timestamps, (ms, i) => ({ time: secondsOf(ms), value: values[i]! })),
  );
  const missingSinceMs = earliestMissing(slices);
  const body = {
    metrics,
    ...(missingSinceMs !== undefined && { missing: { arrivedSince: Math.floor(missingSinceMs / 1000) } }),
  };
  return reply(200, body, { 'server-timing': serverTiming(slices, range, governor.waitedMs) });
}

async function namesOf({ tenant, labels, mustExist }: RegisteredSource) {
  const [catalogue] = await Promise.all([catalogueOf(tenant, labels), mustExist()]);
  return reply(200, { names: metricNames(catalogue, labels) });
}
