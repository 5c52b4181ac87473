import { join } from 'node:path';
import { type PromqlData, writePromqlData } from './data/promql-data';
import { connectTiers } from './data/tenant-data';
import { bench } from './harness/bench';
import type { Harness } from './harness/harness';
import { count, flag, number, text } from './harness/options';
import { quantile } from './harness/quantile';
import { startStores } from './harness/stores';
import { measureFirst } from './promql-first';
import { QueryInstances } from './query-instances';

interface Query {
  readonly query: string;
  readonly tier: 'hot' | 'warm';
  /** Number of series that the query reads, given the number of sources. */
  readonly series: (sources: number) => number;
  /** Step in seconds; undefined for an instant query at the end of the range. */
  readonly step?: number;
}

const ONE = 'x_total{instance="10.0.0.1:9100"}';

const QUERIES: readonly Query[] = (['hot', 'warm'] as const).flatMap((tier): Query[] => [
  { query: 'sum by (mode) (rate(x_total[5m]))', tier, series: (sources) => sources, step: 60 },
  { query: `rate(${ONE}[5m])`, tier, series: () => 1, step: 60 },
  { query: 'topk(10, rate(y_total[5m]))', tier, series: (sources) => sources * 10 },
  { query: 'x_total', tier, series: (sources) => sources },
]);

const SCRAPES_A_MINUTE = 4;

export const promql = bench({
  name: 'promql',
  summary: 'PromQL over 1,000 sources, optionally compared with Prometheus',
  description:
    'Evaluates PromQL over sources scraped every 15 s: the last hour in memory, the hour before in DynamoDB.',
  notes:
    'Real: the query handler, bundled as it is deployed, Valkey, the SDK and its HTTP to the stand-in for DynamoDB (ministack).\n' +
    'Stubbed: API Gateway and Lambda. Times are medians over loopback from request to response, without the time that the query waited\n' +
    'for the stand-in for AWS. Times of Prometheus are medians over loopback from request to response.',
  options: {
    sources: count('sources, one x_total and ten y_total each', 1000),
    seconds: number('how long each query is measured', 5),
    prometheus: text('<url>', 'run the same queries on an empty Prometheus that accepts remote write'),
    only: text('<text>', 'measure only queries whose text (`hot sum by ...`) contains this', ''),
    first: flag('measure the first query of new instances instead: hot, warm and cold'),
    cpuProf: text('<dir>', 'write a CPU profile of each query to this folder, named by its number'),
  },
  run: async ({ sources, seconds, prometheus, only, first, cpuProf }, harness) => {
    const stores = await startStores(harness);
    const shape = first ? { warmHours: 4, hasArchive: true } : { warmHours: 2, hasArchive: false };
    const tiers = connectTiers(harness, stores);
    const data = await writePromqlData(harness, tiers, { sources, nowMs: Date.now(), ...shape });
    if (first) return measureFirst(harness, stores, data, { sources, only, cpuProf });
    if (prometheus !== undefined) await load(harness, prometheus, data);
    const instances = await QueryInstances.start(harness, stores, 1);
    const durationMs = seconds * 1000;
    const rows: object[] = [];
    const add = harness.adder(rows);
    for (const each of QUERIES.filter(({ tier, query }) => `${tier} ${query}`.includes(only))) {
      const { query, tier, series, step } = each;
      const path = pathOf(data, each);
      // From the first request, the instances learn how often flushes have announced the days; before that, nothing can
      // be cached. The second request caches the table's items.
      await instances.settle(`/prometheus${path}`, data.apiKey);
      const refused = await instances.settle(`/prometheus${path}`, data.apiKey);
      if (refused !== undefined) {
        add({ query, tier, series: series(sources), refused });
        continue;
      }
      const profile = cpuProf && join(cpuProf, `${rows.length}`);
      const timing = { durationMs, pauseMs: 0, profile };
      const measured = await instances.measure(() => `/prometheus${path}`, data.apiKey, timing);
      const { fromMs, toMs } = data.ranges[tier];
      const minutes = step === undefined ? 5 : (toMs - fromMs) / 60_000 + 5;
      add({
        query,
        tier,
        series: series(sources),
        /** Number of samples in the query's windows. */
        points: series(sources) * minutes * SCRAPES_A_MINUTE,
        ms: measured.p50Ms,
        cpuMs: measured.cpuMs,
        requests: measured.requests,
        ...(prometheus && { prometheusMs: await medianMs(new URL(path, prometheus), durationMs) }),
      });
    }
    return rows;
  },
});

/** Returns path and parameters of a query. They are the same for both servers. */
function pathOf({ ranges }: PromqlData, { query, tier, step }: Query): string {
  const { fromMs, toMs } = ranges[tier];
  const end = toMs / 1000 - 15;
  if (step === undefined) return `/api/v1/query?${new URLSearchParams({ query, time: String(end) })}`;
  const parameters = { query, start: String(fromMs / 1000), end: String(end), step: String(step) };
  return `/api/v1/query_range?${new URLSearchParams(parameters)}`;
}

async function load(harness: Harness, url: string, { requests }: PromqlData): Promise<void> {
  const countRequest = harness.counter('requests of remote write are sent');
  for (const body of requests()) {
    const response = await fetch(new URL('/api/v1/write', url), {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' },
      body: Buffer.from(body),
    });
    if (!response.ok) throw new Error(`${url}: ${response.status} ${(await response.text()).slice(0, 500)}`);
    countRequest();
  }
}

async function medianMs(url: URL, durationMs: number): Promise<number> {
  const times: number[] = [];
  const endMs = performance.now() + durationMs;
  while (times.length < 3 || performance.now() < endMs) {
    const beganMs = performance.now();
    const response = await fetch(url);
    const body = await response.text();
    if (!response.ok || body.length < 100)
      throw new Error(`${url}: ${response.status} ${body.slice(0, 500)}`);
    times.push(performance.now() - beganMs);
  }
  return Math.round(quantile(times, 0.5) * 100) / 100;
}
