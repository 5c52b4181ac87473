import { join } from 'node:path';
import { DAY_MS, MINUTE_MS, parseDuration } from '../../shared/model/duration';
import { parseDurationOption } from '../ops/option-values';
import { type QueryData, type QueryDataShape, writeQueryData } from './data/query-data';
import { connectTiers } from './data/tenant-data';
import { bench } from './harness/bench';
import type { Harness } from './harness/harness';
import { count, flag, number, text, texts } from './harness/options';
import { startStores } from './harness/stores';
import { HOLD_MS, type PathOf, QueryInstances, type Timing } from './query-instances';

const QUERIES = ['series', 'host'] as const;
type Query = (typeof QUERIES)[number];

const CPU_PROF = text('<dir>', 'write a CPU profile of each kind of query and instance to this folder');

export const query = bench({
  name: 'query',
  summary: 'reads from each tier',
  description:
    "Reads one series (`GET /api/v0/hosts/{id}/metrics`) and a host's 100 series (`GET /api/v1/hosts/{id}/metrics`): 1 h from " +
    'memory, 24 h from DynamoDB, 30 days from S3 (the 100 series in steps of an hour).',
  notes:
    'Real: the query handler, bundled as it is deployed, Valkey, the SDK and its HTTP to the stand-in for DynamoDB and S3 (ministack).\n' +
    'Stubbed: API Gateway and Lambda are a plain HTTP server in each instance; an instance answers one request at a time, as\n' +
    'in Lambda. Times are measured over loopback from request to response, without the time that the query waited for the\n' +
    'stand-in for AWS (emulator). Rounds are consecutive waits for stores: the delay of the query when each response of a store\n' +
    `is delayed by ${HOLD_MS} ms, divided by that. Bytes are those of requests to stores and of their responses.`,
  options: {
    hosts: count('hosts to read, 100 metrics each', 8),
    clients: count(
      'clients that each send their next query after a response; also the number of query instances',
      8,
    ),
    pause: {
      argument: '<duration>',
      help: 'mean time between two queries of a client; 0s keeps every core busy',
      initial: 0,
      parse: (given: string) => (given === '0s' ? 0 : parseDurationOption(given)),
    },
    seconds: number('how long each kind of query is measured', 5),
    only: text('<query-tier>', 'measure only this kind of query, such as series-hot'),
    cpuProf: CPU_PROF,
  },
  run: (options, harness) =>
    reads(harness, options, { hosts: options.hosts, nowMs: Date.now() }, (data) =>
      (['hot', 'warm', 'cold'] as const).flatMap((tier) =>
        QUERIES.filter((kind) => [undefined, `${kind}-${tier}`].includes(options.only)).map((kind) => ({
          kind: { query: kind, tier },
          ...pathOf(data, kind, data.ranges[tier], kind === 'host' && tier === 'cold' ? 3600 : undefined),
        })),
      ),
    ),
});

/** Ranges, each with its step in seconds; undefined for samples as stored. */
const STEPS = { '1h': undefined, '24h': 300, '7d': 3600, '30d': 3600, '90d': 3600, '460d': 86_400 } as const;
const RANGES = Object.keys(STEPS) as (keyof typeof STEPS)[];
/** Ranges of PromQL queries. 458 days have nearly as many hours as a range query may have steps. */
const PROMQL_RANGES = ['30d', '90d', '458d'] as const;
/** Number of days in the archive. Together with the tiers above, they fill the longest range. */
const COLD_DAYS = 459;
/**
 * PromQL queries over the counters of all hosts, with windows as long as the step. Each query aggregates its series,
 * because 100 series over 90 days, hour by hour, would exceed the size of a response.
 */
const COUNTER_QUERIES = {
  rate: 'max(rate(x_total[W]))',
  avg: 'max(avg_over_time(x_total[W]))',
  sum: 'sum by (host) (rate(x_total[W]))',
  topk: 'topk(10, rate(x_total[W]))',
};

/**
 * Steps that Grafana's Prometheus data source uses for a graph of 1,000 pixels. Its `$__rate_interval` is longer by the
 * scrape interval, a minute.
 */
const GRAFANA_STEPS = { '90d': '2h', '458d': '12h' } as const;

export const history = bench({
  name: 'history',
  summary: 'reads of an hour to 460 days, of a series and of a host',
  description:
    `Reads ranges of ${RANGES.join(', ')} that end now, of one series and of a host's 100, in the steps that Mackerel shows: ` +
    'raw for an hour, 5 min for 24 h, an hour up to 90 d (three for the host), a day for 460 d. PromQL sums 100 series by ' +
    'the hour, from rollups.',
  options: {
    clients: count('clients, each with an instance of query', 2),
    hosts: count('hosts, 100 series each', 1),
    days: count('days in the archive', COLD_DAYS),
    counters: flag(
      'the series are counters; measure PromQL over all of them, by the hour, by the day, and as Grafana asks',
    ),
    seconds: number('how long each kind of query is measured', 3),
    hold: number('delay of each response of a store, ms', 0),
    only: texts(
      '<query-range,...>',
      'only these kinds of query, such as series-24h,series-30d; the data stays the same',
    ),
    cpuProf: CPU_PROF,
  },
  run: (options, harness) => {
    const { hosts, days: coldDays, counters: areCounters } = options;
    const shape = { hosts, nowMs: Date.now(), coldDays, isWhole: true, areCounters };
    const isSelected = ({ kind }: Kind) => options.only?.includes(Object.values(kind).join('-')) ?? true;
    if (areCounters)
      return reads(harness, { ...options, pause: 0 }, shape, (data) =>
        counterKinds(data, coldDays).filter(isSelected),
      );
    return reads(harness, { ...options, pause: 0 }, shape, (data) => {
      const { toMs } = data.ranges.hot;
      const graphs = QUERIES.flatMap((query) =>
        RANGES.map((range) => {
          // A response may have at most 100,000 values.
          const stepS = query === 'host' && range === '90d' ? 3 * 3600 : STEPS[range];
          const times = { fromMs: toMs - parseDuration(range)!, toMs };
          return { kind: { query, range }, ...pathOf(data, query, times, stepS) };
        }),
      );
      const sums = PROMQL_RANGES.map((range) => ({
        kind: { query: 'promql', range },
        pathOf: (client: number, turn: number) => {
          const host = data.hostIds[(client + turn) % data.hostIds.length];
          const query = `sum(last_over_time({host="${host}"}[1h]))`;
          return promqlPath(query, toMs - parseDuration(range)!, toMs, '1h');
        },
      }));
      return [...graphs, ...sums].filter(isSelected);
    });
  },
});

interface ReadOptions {
  readonly clients: number;
  readonly seconds: number;
  /** Mean pause of a client between two queries, in ms. */
  readonly pause: number;
  /** Delay of each store's response, in ms. */
  readonly hold?: number;
  readonly cpuProf: string | undefined;
}

interface Kind {
  /** Properties of the read, such as its query and tier. */
  readonly kind: Readonly<Record<string, string>>;
  readonly pathOf: PathOf;
}

/** Measures one kind of query at a time. */
async function reads(
  harness: Harness,
  options: ReadOptions,
  shape: QueryDataShape,
  kindsOf: (data: QueryData) => readonly Kind[],
) {
  const stores = await startStores(harness);
  const data = await writeQueryData(harness, connectTiers(harness, stores), shape);
  const kinds = kindsOf(data);
  const instances = await QueryInstances.start(harness, stores, options.clients);
  const { pause: pauseMs, hold: holdMs = 0, cpuProf } = options;
  const rows: object[] = [];
  const add = harness.adder(rows);
  for (const { kind, pathOf } of kinds) {
    const profile = cpuProf && join(cpuProf, Object.values(kind).join('-'));
    const timing: Timing = { durationMs: options.seconds * 1000, pauseMs, holdMs, profile };
    add({ ...kind, ...(await instances.measure(pathOf, data.apiKey, timing)) });
  }
  return rows;
}

/** Returns the path of a query. Host and series depend on client and turn. */
function pathOf(
  { hostIds, names }: QueryData,
  kind: Query,
  { fromMs, toMs }: QueryData['ranges']['hot'],
  stepS: number | undefined,
): Pick<Kind, 'pathOf'> {
  // Both ends are inclusive.
  const range = `from=${fromMs / 1000}&to=${(toMs - MINUTE_MS) / 1000}${stepS === undefined ? '' : `&step=${stepS}`}`;
  const all = names.map((name) => `name=${name}`).join('&');
  return {
    pathOf: (client, turn) => {
      const host = hostIds[(client + turn) % hostIds.length]!;
      return kind === 'series'
        ? `/api/v0/hosts/${host}/metrics?name=${names[(client + turn * 7) % names.length]}&${range}`
        : `/api/v1/hosts/${host}/metrics?${all}&${range}`;
    },
  };
}

/** Returns the kinds of PromQL queries over counters, for the ranges that the archived days cover. */
function counterKinds({ ranges: { hot } }: QueryData, coldDays: number): Kind[] {
  const isCovered = (range: string) => parseDuration(range)! <= coldDays * DAY_MS;
  const kindOf = (query: string, step: string, range: string, text: string, more = {}): Kind => ({
    kind: { query, step, range },
    pathOf: () => promqlPath(text, hot.toMs - parseDuration(range)!, hot.toMs, step, more),
  });
  const exact = PROMQL_RANGES.filter(isCovered).flatMap((range) =>
    ['1h', '1d'].flatMap((step) =>
      Object.entries(COUNTER_QUERIES).map(([query, text]) =>
        kindOf(query, step, range, text.replace('W', step)),
      ),
    ),
  );
  const grafana = Object.entries(GRAFANA_STEPS)
    .filter(([range]) => isCovered(range))
    .map(([range, step]) =>
      kindOf('grafana', step, range, COUNTER_QUERIES.sum.replace('W', `${step}1m`), {
        max_source_resolution: 'auto',
      }),
    );
  return [...exact, ...grafana];
}

/**
 * Returns the path of a range query whose steps begin at multiples of their length.
 *
 * @param more further parameters of the query
 */
function promqlPath(query: string, fromMs: number, toMs: number, step: string, more = {}): string {
  const stepMs = parseDuration(step)!;
  const end = Math.floor(toMs / stepMs) * stepMs;
  const seconds = (ms: number) => String(ms / 1000);
  const range = { start: seconds(end - (toMs - fromMs)), end: seconds(end), step: seconds(stepMs) };
  return `/prometheus/api/v1/query_range?${new URLSearchParams({ query, ...range, ...more })}`;
}
