/**
 * Prometheus' compliance suite for PromQL: its queries are answered as by a real Prometheus 3, over samples of some
 * hours, and over days that have rollups. The demo service of the suite is replaced by samples of the same series.
 *
 * `COMPLIANCE` is a checkout of the suite, cloned by default; `PROMETHEUS` is a program, built by default.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { Random } from '../../scripts/faults/random';
import { type Labels, labelsOf } from '../../shared/model/labels';
import { instantQuery, type QueryOptions, rangeQuery } from '../../shared/promql/query';
import { complianceSuite, prometheusBinaries } from '../support/peers';
import { differenceFrom, PrometheusServer } from '../support/prometheus-server';
import { RolledStore } from '../support/rolled-store';
import { SEED } from '../support/seed';

const PROMETHEUS = process.env.PROMETHEUS ?? join(prometheusBinaries(), 'prometheus');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The suite's own tolerance. */
const TOLERANCE = 1e-5;

/** The suite's arguments, as in its `testcases/expand.go`. Its times depend on the samples that are compared. */
const ARGUMENTS = {
  simpleAggrOp: 'sum avg max min count stddev stdvar',
  simpleTimeAggrOp: 'sum avg max min count stddev stdvar absent last',
  topBottomOp: 'topk bottomk',
  quantile: '-0.5 0.1 0.5 0.75 0.95 0.90 0.99 1 1.5',
  arithBinOp: '+ - * / % ^',
  compBinOp: '== != < > <= >=',
  binOp: '+ - * / % ^ == != < > <= >=',
  simpleMathFunc: 'abs ceil floor exp sqrt ln log2 log10 round',
  extrapolatedRateFunc: 'delta rate increase',
  clampFunc: 'clamp_min clamp_max',
  instantRateFunc: 'idelta irate',
  dateFunc: 'day_of_month day_of_week days_in_month hour minute month year',
};

interface Times {
  readonly range: string;
  readonly offset: string;
}

function queries(times: Times): string[] {
  const text = readFileSync(join(complianceSuite(), 'promql', 'promql-test-queries.yml'), 'utf8');
  const { test_cases: cases } = parse(text) as {
    test_cases: { readonly query: string; readonly variant_args?: readonly string[] }[];
  };
  const values: Readonly<Record<string, string>> = { ...ARGUMENTS, ...times };
  return cases.flatMap(({ query, variant_args: names = [] }) =>
    names.reduce<string[]>(
      (all, name) =>
        all.flatMap((each) =>
          values[name]!.split(' ').map((value) => each.replaceAll(`{{.${name}}}`, value)),
        ),
      [query],
    ),
  );
}

/**
 * Adds four days of the series that the demo service has. One instance is sampled at full hours, the others shortly
 * after them.
 */
function addDemo(
  { memory }: RolledStore,
  random: Random,
  fromMs: number,
  toMs: number,
  everyMs: number,
): void {
  const add = (labels: Labels, phaseMs: number, next: (ms: number) => number | undefined) => {
    for (let ms = fromMs + phaseMs; ms < toMs; ms += everyMs) {
      const value = next(ms);
      if (value !== undefined) memory.add(labels, ms, value);
    }
  };
  for (const [i, port] of ['10000', '10001', '10002'].entries()) {
    const phaseMs = i * 1_234;
    const of = (name: string, ...more: [string, string][]) =>
      labelsOf(
        ['__name__', `demo_${name}`],
        ['instance', `demo.promlabs.com:${port}`],
        ['job', 'demo'],
        ...more,
      );
    const counter = (labels: Labels, most: number) => {
      let total = 0;
      add(labels, phaseMs, () => (total = random.chance(0.001) ? 0 : total + random.integer(0, most)));
    };
    for (const type of ['buffers', 'cached', 'free', 'used'])
      add(of('memory_usage_bytes', ['type', type]), phaseMs, () => random.integer(1e6, 1e9));
    for (const mode of ['idle', 'system', 'user']) counter(of('cpu_usage_seconds_total', ['mode', mode]), 40);
    for (const le of ['0.1', '1', '+Inf'])
      for (const status of ['200', '500'])
        counter(of('api_request_duration_seconds_bucket', ['le', le], ['status', status]), 10);
    counter(of('api_request_duration_seconds_count', ['status', '200']), 10);
    counter(of('disk_usage_bytes'), 1000);
    add(of('num_cpus'), phaseMs, () => 4);
    add(of('batch_last_success_timestamp_seconds'), phaseMs, (ms) => Math.floor(ms / HOUR) * 3600);
    add(of('intermittent_metric'), phaseMs, (ms) => (Math.floor(ms / HOUR) % 3 === 0 ? undefined : 1));
  }
}

const WORLDS = [
  {
    what: 'samples of hours',
    days: 0.25,
    everyMs: 15_000,
    rollups: false,
    steps: { fromMs: 2 * HOUR, toMs: 2 * HOUR + 10 * MINUTE, stepMs: 10_000 },
    times: { range: '1s 15s 1m 5m 15m 1h', offset: '1m 5m 10m' },
  },
  {
    what: 'days with rollups',
    days: 4,
    everyMs: 2 * MINUTE,
    rollups: true,
    steps: { fromMs: 2 * DAY, toMs: 4 * DAY, stepMs: HOUR },
    times: { range: '15m 1h 2h 6h 1d 2d', offset: '1h 1d 2d' },
  },
];

test.each(WORLDS)(
  `the suite's 539 queries over $what (SEED=${SEED}) are answered as by Prometheus`,
  async ({ what, days, everyMs, rollups, steps, times }) => {
    const all = queries(times);
    expect(all).toHaveLength(539);
    const startMs = Math.floor(Date.now() / DAY - 8) * DAY;
    const store = new RolledStore();
    addDemo(store, new Random(SEED), startMs, startMs + days * DAY, everyMs);
    const range = { startMs: startMs + steps.fromMs, endMs: startMs + steps.toMs, stepMs: steps.stepMs };
    const options: QueryOptions = {
      limits: { maxSeries: 10_000, maxSamples: 10_000_000, maxValues: 10_000_000 },
      isLate: () => false,
      rollups: rollups ? { grainsMs: [HOUR, DAY], leastRangeMs: 0 } : undefined,
    };
    const server = await PrometheusServer.start(PROMETHEUS);
    const differences: string[] = [];
    let rolled = 0;
    try {
      await server.write(store.memory);
      for (const query of all) {
        const before = store.points;
        const failed = (error: Error) => error;
        const found = await rangeQuery(store, query, range, options).catch(failed);
        const now = await instantQuery(store, query, range.endMs, options).catch(failed);
        if (store.points > before) rolled++;
        for (const difference of [
          differenceFrom(await server.range(query, range), found, TOLERANCE),
          differenceFrom(await server.instant(query, range.endMs), now, TOLERANCE),
        ])
          if (difference !== undefined) differences.push(`${query}: ${difference}`);
      }
    } finally {
      await server.stop();
    }
    process.stdout.write(
      `${what}: ${all.length - differences.length} of ${all.length}, ${rolled} from rollups\n`,
    );
    expect(differences).toEqual([]);
    expect(rolled > 100).toBe(rollups);
  },
);
