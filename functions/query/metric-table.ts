import type * as z from 'zod';
import { metricNames } from '../../shared/catalogue/source-series';
import type { metricTableQuery } from '../../shared/http/contract/metric-table';
import type { RouteHandlers } from '../../shared/http/handler';
import { reply } from '../../shared/http/http';
import { requireFewSamples, requireFewSteps } from '../../shared/http/response-limits';
import { serverTiming } from '../../shared/http/server-timing';
import { metricOf } from '../../shared/model/labels';
import { count } from '../../shared/platform/function-metrics';
import { planShown } from '../../shared/query/plan';
import { earliestMissing } from '../../shared/query/read';
import { joinTables, seriesTable } from '../../shared/query/series-table';
import { readableRange, readShown, requestedRange } from './reading';
import { catalogueOf, governor, hostSource, type RegisteredSource, serviceSource } from './stores';

/** Reads several metrics of one source as a table, from which a client can draw a graph. */
export const metricTableHandlers: RouteHandlers = {
  'GET /api/v1/hosts/{hostId}/metrics': async ({ tenant, path, query }) =>
    readTable(hostSource(tenant, path.hostId), query),
  'GET /api/v1/services/{serviceName}/metrics': async ({ tenant, path, query }) =>
    readTable(serviceSource(tenant, path.serviceName), query),
};

async function readTable(
  { tenant, labels: source, mustExist }: RegisteredSource,
  { name, step: stepMs, aggregate, partial, ...query }: z.output<typeof metricTableQuery>,
) {
  const requested = requestedRange(query);
  const whole =
    stepMs === undefined
      ? { ...requested, toMs: requested.toMs + 1000 }
      : planShown(requested, stepMs, true).range;
  const range = readableRange(whole);
  const [known] = await Promise.all([catalogueOf(tenant, source), mustExist()]);
  const existing = new Set(metricNames(known));
  const names = [...new Set(name)].filter((each) => existing.has(each));
  if (stepMs === undefined) requireFewSamples(names.length, range, known.firstMs);
  else requireFewSteps(names.length, stepMs, range, known.firstMs);
  if (names.length === 0) return reply(200, { times: [], series: [] });
  const series = names.map((each) => metricOf(source, each));
  const shownAs = { stepMs, aggregate, partial };
  const slices = await readShown(tenant, { source, series, known }, range, shownAs, (samples) =>
    seriesTable(samples, stepMs, aggregate),
  );
  const { times, values } = joinTables(slices.map(({ shown }) => shown));
  const missingSinceMs = earliestMissing(slices);
  count('query', { Reads: 1, SamplesRead: values.length * times.length });
  const table = {
    times: Array.from(times),
    series: names.map((each, i) => ({ name: each, values: Array.from(values[i]!) })),
    ...(missingSinceMs !== undefined && { missing: { arrivedSinceMs: missingSinceMs } }),
  };
  return reply(200, table, { 'server-timing': serverTiming(slices, range, governor.waitedMs) });
}
