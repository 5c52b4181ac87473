import { type Labels, labelsOf } from '../../../shared/model/labels';
import { staleMarkers } from '../../../shared/model/sample-columns';
import { MemorySampleStore, STALE_BITS } from '../../../shared/promql/memory-store';
import { type BacktestOptions, type BacktestPart, backtest } from '../../../shared/rules/backtest';
import { parseRuleFile } from '../../../shared/rules/rule-file';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LOAD = labelsOf(['__name__', 'load'], ['job', 'web']);
const RECORDED = labelsOf(['__name__', 'job:load:sum'], ['job', 'web']);

const RULES = `groups:
- name: g
  rules:
  - { record: "job:load:sum", expr: sum by (job) (load) }
  - alert: High
    expr: job:load:sum > 10
    for: 2m
    annotations: { summary: "{{ $labels.job }} is at {{ $value }}" }
`;

/** The stored samples: one value of `load` a minute. */
function stored(values: readonly number[]): MemorySampleStore {
  const store = new MemorySampleStore();
  for (const [i, value] of values.entries()) store.add(LOAD, i * MINUTE, value);
  return store;
}

async function run(
  rules: string,
  store: MemorySampleStore,
  minutes: readonly [from: number, to: number],
  options: Partial<BacktestOptions> = {},
) {
  const parts: BacktestPart[] = [];
  const [from, to] = minutes;
  const result = await backtest(parseRuleFile(rules).ruleGroups, {
    range: { fromMs: from * MINUTE, toMs: to * MINUTE },
    reads: () => store,
    query: { limits: { maxSeries: 100, maxSamples: 10_000, maxValues: 10_000 }, isLate: () => false },
    defaultOffsetMs: 0,
    maxAlerts: 10,
    onPart: async (part) => {
      parts.push(part);
    },
    ...options,
  });
  return { ...result, parts };
}

/** The samples that a rule recorded: minute and value, or `end` for a stale marker. */
function recordedIn(parts: readonly BacktestPart[], wanted: Labels): (readonly [number, number | 'end'])[] {
  return parts
    .flatMap(({ recorded }) => recorded)
    .filter(({ labels }) => JSON.stringify(labels) === JSON.stringify(wanted))
    .flatMap(({ timestamps, values }) =>
      [...timestamps].map(
        (time, i) => [time / MINUTE, staleMarkers(values)?.[i] === 1 ? 'end' : values[i]!] as const,
      ),
    );
}

test('an alert becomes active, fires and ends by a rule that reads what an earlier rule of the group yields', async () => {
  const values = [1, 20, 20, 30, 20, 1, 1, 50, 1, 1];
  const { alerts, neverFired, ticks, failures, parts } = await run(RULES, stored(values), [0, 10]);
  expect(alerts).toEqual([
    {
      group: 'g',
      labels: labelsOf(['alertname', 'High'], ['job', 'web']),
      annotations: [['summary', 'web is at 30']],
      value: 30,
      activeAtMs: MINUTE,
      firedAtMs: 3 * MINUTE,
      resolvedAtMs: 5 * MINUTE,
    },
  ]);
  expect({ neverFired, ticks, failures }).toEqual({ neverFired: 1, ticks: 10, failures: [] });
  expect(recordedIn(parts, RECORDED)).toEqual(values.map((value, i) => [i, value]));
});

test('an alert that still fires at the end has no end', async () => {
  const { alerts } = await run(RULES, stored([20, 20, 20, 20]), [0, 4]);
  expect(alerts).toMatchObject([{ activeAtMs: 0, firedAtMs: 2 * MINUTE }]);
  expect(alerts[0]!.resolvedAtMs).toBeUndefined();
});

test('a series that ends gets a stale marker', async () => {
  const store = stored([1, 2]);
  store.add(LOAD, 2 * MINUTE, STALE_BITS);
  const { parts } = await run(RULES, store, [0, 4]);
  expect(recordedIn(parts, RECORDED)).toEqual([
    [0, 1],
    [1, 2],
    [2, 'end'],
  ]);
});

test('a backtest ignores samples that the rules stored since its start, and reads those stored before', async () => {
  const store = stored([1, 1, 1, 1, 1]);
  for (let i = 0; i < 5; i++) store.add(RECORDED, i * MINUTE, 100);
  const rules = `${RULES}  - { record: before, expr: "max_over_time(job:load:sum[3m])" }\n`;
  const { alerts, parts } = await run(rules, store, [2, 5]);
  expect(alerts).toEqual([]);
  expect(recordedIn(parts, labelsOf(['__name__', 'before'], ['job', 'web']))).toEqual([
    [2, 100],
    [3, 100],
    [4, 1],
  ]);
});

test('the state of alerts passes from one part of the range to the next', async () => {
  const values = Array.from({ length: 300 }, (_, i) => (i >= 119 && i < 130 ? 20 : 1));
  const { alerts, parts } = await run(RULES, stored(values), [0, 300]);
  expect(parts.map(({ untilMs, ticks }) => [untilMs / HOUR, ticks])).toEqual([
    [2, 120],
    [4, 240],
    [5, 300],
  ]);
  expect(alerts).toMatchObject([
    { activeAtMs: 119 * MINUTE, firedAtMs: 121 * MINUTE, resolvedAtMs: 130 * MINUTE },
  ]);
});

test('a group reads its query offset before the tick, and has its own interval', async () => {
  const rules = RULES.replace('name: g', 'name: g\n  interval: 2m\n  query_offset: 1m');
  const { parts, ticks } = await run(rules, stored([1, 2, 3, 4, 5, 6]), [2, 7]);
  expect(ticks).toBe(3);
  expect(recordedIn(parts, RECORDED)).toEqual([
    [1, 2],
    [3, 4],
    [5, 6],
  ]);
});

test('a backtest names a failing rule with its first failure, and evaluates the other rules', async () => {
  const rules = `${RULES}  - { record: same, expr: 'load or label_replace(load, "job", "other", "", "")', labels: { job: "" } }\n`;
  const { failures, alerts } = await run(rules, stored([1, 20, 20, 20]), [0, 4]);
  expect(failures).toEqual([
    {
      group: 'g',
      rule: 'same',
      ticks: 4,
      firstMs: 0,
      error: 'vector contains metrics with the same labelset after applying rule labels',
    },
  ]);
  expect(alerts).toHaveLength(1);
});

test('a range with too many evaluations is refused before anything is read', async () => {
  const reads = () => {
    throw new Error('read');
  };
  await expect(run(RULES, stored([]), [0, 300_000], { reads })).rejects.toThrow(
    'the range has 300000 evaluations of groups; at most 288000 are allowed',
  );
});
