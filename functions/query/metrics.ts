import type * as z from 'zod';
import { metricNames } from '../../shared/catalogue/source-series';
import type { metricsQuery } from '../../shared/http/contract/metrics';
import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply } from '../../shared/http/http';
import { downsample, type Samples } from '../../shared/model/aggregates';
import { type Labels, labelsKey, METRIC_NAME, metricOf, sourceOf } from '../../shared/model/labels';
import { equals } from '../../shared/model/matcher';
import type { TimeRange } from '../../shared/model/selection';
import { count } from '../../shared/platform/function-metrics';
import { planShown, stepGrains } from '../../shared/query/plan';
import { earliestMissing } from '../../shared/query/read';
import { readInSlices } from '../../shared/query/read-in-slices';
import { Querier, type Selected } from '../../shared/query/select';
import { samplesOf } from '../../shared/query/series-table';
import type { Tenant } from '../../shared/tenancy/tenants';
import {
  askedRange,
  type ReadPart,
  readableRange,
  requireFewSteps,
  requireSendable,
  serverTiming,
  sliceBudget,
} from './reading';
import {
  catalogueOf,
  dependencies,
  hostSource,
  quoted,
  type RegisteredSource,
  serviceSource,
} from './stores';

/** Reads of one metric in Mackerel's format, and of one series with any labels. */
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
    const absent = `there is no series ${quoted(query.name)} of exactly these labels`;
    const read = await readMetric(tenant, query.label, query, absent);
    return answerOf(read, (ms) => ms / 1000);
  },
};

type MetricsQuery = z.output<typeof metricsQuery>;

/** A slice of the range. */
interface MetricPart extends ReadPart, Pick<Selected, 'missingSinceMs'> {
  readonly shown: Samples;
}

interface MetricRead {
  readonly range: TimeRange;
  /** The slices of the range, in order of time. */
  readonly parts: readonly MetricPart[];
}

/** Reads one metric. Mackerel's times are whole seconds. */
async function registeredMetric(source: RegisteredSource, query: MetricsQuery) {
  const { tenant, labels, text } = source;
  const exists = source.mustExist();
  const absent = `${text} has no metric ${quoted(query.name)}`;
  const [read] = await Promise.all([readMetric(tenant, labels, query, absent, () => exists), exists]);
  return answerOf(read, (ms) => Math.floor(ms / 1000));
}

/**
 * @param labels all labels of the series except its name
 * @param absent first sentence of the message when the series does not exist
 * @param mustExist awaited before samples are read
 */
async function readMetric(
  tenant: Tenant,
  labels: Labels,
  { name, step, aggregate, partial, ...asked }: MetricsQuery,
  absent: string,
  mustExist?: () => Promise<void>,
): Promise<MetricRead> {
  const series = metricOf(labels, name);
  const { range: whole, stepMs } = planShown(askedRange(asked), step, aggregate !== undefined);
  const range = readableRange(whole);
  const matchers = [...labels.map(([label, value]) => equals(label, value)), equals(METRIC_NAME, name)];
  const grains = stepGrains(stepMs, aggregate);
  const querier = new Querier(dependencies, tenant);
  const read = async (slice: TimeRange, mostSamples: number): Promise<MetricPart> => {
    const { blocks, tiers, missingSinceMs, rolledDays } = await querier.select(matchers, slice, {
      source: sourceOf.labels(labels),
      allowsMissing: partial === 'true',
      grains,
      budget: sliceBudget(mostSamples),
      check: async (found) => {
        await mustExist?.();
        // Check for the exact series: series with further labels match too.
        if (!found.series.some((other) => labelsKey(other) === labelsKey(series)))
          throw new HttpError(404, `${absent}; samples appear within a second or two after a post`);
        if (stepMs !== undefined) requireFewSteps(1, stepMs, range, found.firstMs);
      },
    });
    const [samples] = samplesOf(blocks, [series], grains) as [Samples];
    count('query', { SamplesRead: samples.timestamps.length });
    const shown = stepMs === undefined ? samples : downsample(samples, stepMs, aggregate);
    return { shown, tiers: tiers!, missingSinceMs, rolledDays };
  };
  const parts = (await readInSlices(read, range, stepMs)) ?? [];
  count('query', { Reads: 1 });
  return { range, parts };
}

function answerOf({ parts, range }: MetricRead, secondsOf: (ms: number) => number) {
  requireSendable(parts.reduce((sum, { shown }) => sum + shown.timestamps.length, 0));
  const metrics = parts.flatMap(({ shown: { timestamps, values } }) =>
    Array.from(timestamps, (ms, i) => ({ time: secondsOf(ms), value: values[i]! })),
  );
  const missingSinceMs = earliestMissing(parts);
  const answer = {
    metrics,
    ...(missingSinceMs !== undefined && { missing: { arrivedSince: Math.floor(missingSinceMs / 1000) } }),
  };
  return reply(200, answer, { 'server-timing': serverTiming(parts, range) });
}

async function namesOf({ tenant, labels, mustExist }: RegisteredSource) {
  const [catalogue] = await Promise.all([catalogueOf(tenant, labels), mustExist()]);
  return reply(200, { names: metricNames(catalogue, labels) });
}
