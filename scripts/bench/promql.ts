/** `npm run bench -- promql`: time and cost of PromQL over many sources, beside a real Prometheus. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { type PromqlData, writePromqlData } from './promql-data';
import { quantile } from './quantile';
import { QueryInstances } from './query-instances';
import { startStores } from './stores';

interface Options {
  readonly sources: string;
  readonly seconds: string;
  readonly prometheus?: string;
  readonly only?: string;
  readonly cpuProf?: string;
  readonly json?: boolean;
}

interface Query {
  readonly query: string;
  readonly tier: 'hot' | 'warm';
  /** Series that the query reads, of so many sources. */
  readonly series: (sources: number) => number;
  /** Seconds between steps; undefined: an instant query at the range's end. */
  readonly step?: number;
}

interface Row {
  readonly query: string;
  readonly tier: Query['tier'];
  readonly series: number;
  /** Samples in the query's windows. */
  readonly points: number;
  /** Median. */
  readonly ms: number;
  readonly cpuMs: number;
  readonly requests: number;
  /** Median of the same query on Prometheus. */
  readonly prometheusMs?: number;
}

const ONE = 'x_total{instance="10.0.0.1:9100"}';

const QUERIES: readonly Query[] = (['hot', 'warm'] as const).flatMap((tier): Query[] => [
  { query: 'sum by (mode) (rate(x_total[5m]))', tier, series: (sources) => sources, step: 60 },
  { query: `rate(${ONE}[5m])`, tier, series: () => 1, step: 60 },
  { query: 'topk(10, rate(y_total[5m]))', tier, series: (sources) => sources * 10 },
  { query: 'x_total', tier, series: (sources) => sources },
]);

const SCRAPES_A_MINUTE = 4;

/** @param args what follows `promql` on the command line */
export async function benchPromql(args: string[]): Promise<void> {
  const command = new Command('bench promql')
    .description(
      'Evaluates PromQL over sources scraped every 15 s: the last hour in memory, the hour before in DynamoDB.',
    )
    .option('--sources <n>', 'sources, one x_total and ten y_total each', '1000')
    .option('--seconds <n>', 'how long each query is measured', '5')
    .option('--prometheus <url>', 'run the same on an empty Prometheus that accepts remote write')
    .option('--only <text>', 'queries that contain it, written as `hot sum by ...`')
    .option('--cpu-prof <dir>', 'write a CPU profile of each query there, by its number')
    .option('--json', 'an array on stdout, as the last line')
    .addHelpText(
      'after',
      '\nReal: the query handler, bundled as it is deployed, Valkey, the SDK and its HTTP to the stand-in for DynamoDB (ministack).\n' +
        'Stubbed: API Gateway and Lambda. Times are from request to answer over loopback, less the time in which an answer of the\n' +
        'stand-in for AWS was waited for. Of Prometheus: from request to answer over loopback.',
    );
  command.parse(args, { from: 'user' });
  const options = command.opts<Options>();
  const sources = Number(options.sources);
  const dir = mkdtempSync(join(tmpdir(), 'bench-promql-'));
  const stores = await startStores(dir);
  let instances: QueryInstances | undefined;
  try {
    const data = await writePromqlData(stores, sources, Date.now());
    if (options.prometheus !== undefined) await load(options.prometheus, data);
    instances = await QueryInstances.start(dir, stores, 1);
    const durationMs = Number(options.seconds) * 1000;
    const rows: Row[] = [];
    for (const each of QUERIES) {
      const { query, tier, series, step } = each;
      if (!`${tier} ${query}`.includes(options.only ?? '')) continue;
      const path = pathOf(data, each);
      // Once to count what the days announce, once to keep what the table has then.
      for (let i = 0; i < 2; i++) await instances.settle(`/prometheus${path}`, data.apiKey);
      const { p50Ms, cpuMs, requests } = await instances.measure(() => `/prometheus${path}`, data.apiKey, {
        durationMs,
        pauseMs: 0,
        profile: options.cpuProf && join(options.cpuProf, `${rows.length}`),
      });
      const { fromMs, toMs } = data.ranges[tier];
      const minutes = step === undefined ? 5 : (toMs - fromMs) / 60_000 + 5;
      const row: Row = {
        query,
        tier,
        series: series(sources),
        points: series(sources) * minutes * SCRAPES_A_MINUTE,
        ms: p50Ms,
        cpuMs,
        requests,
        ...(options.prometheus !== undefined && {
          prometheusMs: await medianMs(new URL(path, options.prometheus), durationMs),
        }),
      };
      rows.push(row);
      process.stderr.write(`${describe(row)}\n`);
    }
    if (options.json) process.stdout.write(`${JSON.stringify(rows)}\n`);
  } finally {
    await instances?.stop();
    await stores.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Path and parameters of a query, as both servers take them below their prefix. */
function pathOf({ ranges }: PromqlData, { query, tier, step }: Query): string {
  const { fromMs, toMs } = ranges[tier];
  const end = toMs / 1000 - 15;
  if (step === undefined) return `/api/v1/query?${new URLSearchParams({ query, time: String(end) })}`;
  const parameters = { query, start: String(fromMs / 1000), end: String(end), step: String(step) };
  return `/api/v1/query_range?${new URLSearchParams(parameters)}`;
}

async function load(url: string, { requests }: PromqlData): Promise<void> {
  for (const body of requests()) {
    const response = await fetch(new URL('/api/v1/write', url), {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' },
      body: Buffer.from(body),
    });
    if (!response.ok) throw new Error(`${url}: ${response.status} ${(await response.text()).slice(0, 500)}`);
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

function describe({ query, tier, series, points, ms, cpuMs, requests, prometheusMs }: Row): string {
  const beside = prometheusMs === undefined ? '' : `; Prometheus ${prometheusMs} ms`;
  return `${tier.padEnd(4)} ${query.padEnd(38)} ${series} series, ${points} points: ${ms} ms, CPU ${cpuMs} ms, ${requests} requests${beside}`;
}
