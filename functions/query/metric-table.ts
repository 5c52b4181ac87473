import type * as z from 'zod';
import type { metricTableQuery } from '../../shared/http/contract/metric-table';
import type { RouteHandlers } from '../../shared/http/handler';
import { reply } from '../../shared/http/http';
import { labelValue, METRIC_NAME, metricOf } from '../../shared/model/labels';
import { equals, isIn } from '../../shared/model/matcher';
import type { TimeRange } from '../../shared/model/selection';
import { count } from '../../shared/platform/function-metrics';
import { planShown, stepGrains } from '../../shared/query/plan';
import { earliestMissing } from '../../shared/query/read';
import { readInSlices } from '../../shared/query/read-in-slices';
import { Querier, type Selected } from '../../shared/query/select';
import { joinTables, type SeriesTable, samplesOf, seriesTable } from '../../shared/query/series-table';
import {
  askedRange,
  type ReadPart,
  readableRange,
  requireFewSamples,
  requireFewSteps,
  serverTiming,
  sliceBudget,
} from './reading';
import { dependencies, hostSource, type RegisteredSource, serviceSource } from './stores';

/** Reads several metrics of one source as a table, as graphs need it. */
export const metricTableHandlers: RouteHandlers = {
  'GET /api/v1/hosts/{hostId}/metrics': async ({ tenant, path, query }) =>
    readTable(hostSource(tenant, path.hostId), query),
  'GET /api/v1/services/{serviceName}/metrics': async ({ tenant, path, query }) =>
    readTable(serviceSource(tenant, path.serviceName), query),
};

/** The table of a slice of the range. */
interface TablePart extends ReadPart, Pick<Selected, 'missingSinceMs'> {
  readonly table: SeriesTable;
}

async function readTable(
  { tenant, labels: source, mustExist }: RegisteredSource,
  { name, step: stepMs, aggregate, partial, ...query }: z.output<typeof metricTableQuery>,
) {
  const asked = askedRange(query);
  const whole =
    stepMs === undefined ? { ...asked, toMs: asked.toMs + 1000 } : planShown(asked, stepMs, true).range;
  const range = readableRange(whole);
  const exists = mustExist();
  // All slices have the columns of the first one, even if a series comes or goes meanwhile.
  let names: string[] | undefined;
  const matchers = [...source.map(([label, value]) => equals(label, value)), isIn(METRIC_NAME, name)];
  const querier = new Querier(dependencies, tenant);
  const grains = stepGrains(stepMs, aggregate);
  const read = async (slice: TimeRange, mostSamples: number): Promise<TablePart | undefined> => {
    const selecting = querier.select(matchers, slice, {
      source,
      allowsMissing: partial === 'true',
      grains,
      budget: sliceBudget(mostSamples),
      check: async ({ series, firstMs }) => {
        await exists;
        const existing = new Set(series.map((labels) => labelValue(labels, METRIC_NAME)));
        names ??= [...new Set(name)].filter((each) => existing.has(each));
        if (stepMs === undefined) requireFewSamples(names.length, range, firstMs);
        else requireFewSteps(names.length, stepMs, range, firstMs);
      },
    });
    const [{ blocks, tiers, missingSinceMs, rolledDays }] = await Promise.all([selecting, exists]);
    if (tiers === undefined) return undefined;
    const series = names!.map((each) => metricOf(source, each));
    const samples = samplesOf(blocks, series, grains);
    return { table: seriesTable(samples, stepMs, aggregate), tiers, missingSinceMs, rolledDays };
  };
  const parts = await readInSlices(read, range, stepMs);
  if (parts === undefined) return reply(200, { times: [], series: [] });
  const { times, values } = joinTables(parts.map(({ table }) => table));
  const missingSinceMs = earliestMissing(parts);
  count('query', { Reads: 1, SamplesRead: values.length * times.length });
  const table = {
    times: Array.from(times),
    series: names!.map((each, i) => ({ name: each, values: Array.from(values[i]!) })),
    ...(missingSinceMs !== undefined && { missing: { arrivedSinceMs: missingSinceMs } }),
  };
  return reply(200, table, { 'server-timing': serverTiming(parts, range) });
}
