import { decodeJson, encodeJson } from '../../../shared/alerting/tasks/task-states';
import { labelValue, METRIC_NAME } from '../../../shared/model/labels';
import type { SampleColumns } from '../../../shared/model/sample-columns';
import { MemorySampleStore, STALE_BITS } from '../../../shared/promql/memory-store';
import { SharedReads } from '../../../shared/promql/shared-reads';
import type { SampleStore } from '../../../shared/promql/store';
import {
  type AdvancedRuleGroup,
  type AdvanceOptions,
  advanceRuleGroup,
  endRuleGroup,
  expectReads,
  planRuleGroup,
} from '../../../shared/rules/advance-rule-group';
import { ruleGroupOf } from '../../../shared/rules/rule-document';
import { parseRuleGroup } from '../../../shared/rules/rule-file';
import type { RuleGroupState } from '../../../shared/rules/rule-group-state';

const MINUTE_MS = 60_000;
const OFFSET_MS = 30_000;
/** The first tick. */
const START_MS = 100 * MINUTE_MS;

const RULES = `
  - record: job:load:sum
    expr: sum by (job) (load)
  - alert: High
    expr: job:load:sum > 10
    for: 2m
`;

/** A group that is advanced over stored samples. Its results are stored as the stream would store them. */
class Run {
  readonly store = new MemorySampleStore();
  state: RuleGroupState | undefined;
  reads = 0;
  /** The jobs whose alerts are silenced. */
  silenced: readonly string[] = [];
  repeatsMs: readonly number[] = [];
  policyReads = 0;
  failure: 'none' | 'error' | 'incomplete' = 'none';
  hasTime = () => true;

  constructor(public rules = RULES) {}

  /** Adds a sample that the tick reads. */
  load(minute: number, value: number): this {
    const labels = [[METRIC_NAME, 'load'] as const, ['job', 'shop'] as const];
    this.store.add(labels, START_MS + minute * MINUTE_MS - OFFSET_MS, value);
    return this;
  }

  /** Evaluates what is due a second after a minute began. */
  async at(minute: number): Promise<AdvancedRuleGroup | undefined> {
    const { document, faults } = parseRuleGroup(`name: g\nrules:${this.rules}`);
    expect(faults).toEqual([]);
    const ruleGroup = ruleGroupOf(document!);
    const select: SampleStore['select'] = async (matchers, range) => {
      this.reads++;
      if (this.failure === 'error') throw new Error('Command timed out');
      const { series } = await this.store.select(matchers, range);
      return { series, warnings: this.failure === 'incomplete' ? ['samples are missing'] : [] };
    };
    const reads = new SharedReads(() => ({ select }));
    const options: AdvanceOptions = {
      id: 'tenant group',
      reads,
      query: {
        limits: { maxSeries: 2_000, maxSamples: 1_000_000, maxValues: 1_000_000 },
        isLate: () => false,
      },
      maxAlerts: 10,
      policy: async () => {
        this.policyReads++;
        return {
          isSilenced: (labels) => this.silenced.includes(labelValue(labels, 'job')!),
          repeatsMs: this.repeatsMs,
        };
      },
      hasTime: () => this.hasTime(),
      clock: () => 0,
      onFailure: () => {},
    };
    const time = { nowMs: START_MS + minute * MINUTE_MS + 1_000, lagMs: 0 };
    const plan = planRuleGroup(ruleGroup, this.state, time, OFFSET_MS);
    if (plan.ticks.length === 0) return undefined;
    expectReads(reads, ruleGroup, plan);
    const advanced = await advanceRuleGroup(ruleGroup, this.state, plan, options);
    // Encode and decode the state, as storing and reading it does.
    this.state = decodeJson(encodeJson(advanced.state)) as RuleGroupState;
    for (const { labels, timestamps, values } of advanced.series) {
      const bits = new BigUint64Array(values.buffer, values.byteOffset, values.length);
      for (const [i, ms] of timestamps.entries()) this.store.add(labels, ms, bits[i]!);
    }
    return advanced;
  }

  /** The state of each alert, with its label `job`. */
  alerts(): string[] {
    return this.state!.rules.flatMap(({ alerts }) =>
      alerts.map(({ state, labels }) => `${state} ${labelValue(labels, 'job')}`),
    );
  }
}

/** The samples of a series, indexed by the minute of their tick. */
function samplesOf(advanced: AdvancedRuleGroup | undefined, name: string): (number | 'stale')[][] {
  const found = advanced!.series.filter(({ labels }) => labelValue(labels, METRIC_NAME) === name);
  return found.flatMap(({ timestamps, values }: SampleColumns) => {
    const bits = new BigUint64Array(values.buffer, values.byteOffset, values.length);
    return [...timestamps].map((ms, i) => [
      (ms + OFFSET_MS - START_MS) / MINUTE_MS,
      bits[i] === STALE_BITS ? ('stale' as const) : values[i]!,
    ]);
  });
}

const saidOf = (advanced: AdvancedRuleGroup | undefined) => advanced!.notifications.map(({ state }) => state);

test('an alert becomes pending, fires after its time and ends; receivers are notified of each change once', async () => {
  const run = new Run().load(0, 20).load(1, 20).load(2, 20).load(3, 20).load(4, 1);
  const said: string[][] = [];
  const states: string[][] = [];
  for (let minute = 0; minute <= 5; minute++) {
    said.push(saidOf(await run.at(minute)));
    states.push(run.alerts());
  }
  expect(states).toEqual([
    ['pending shop'],
    ['pending shop'],
    ['firing shop'],
    ['firing shop'],
    ['resolved shop'],
    ['resolved shop'],
  ]);
  expect(said).toEqual([[], [], ['firing'], [], ['resolved'], []]);
});

test('the series of an alert that fires is made when the alert becomes pending', async () => {
  const run = new Run();
  for (let minute = 0; minute <= 3; minute++) run.load(minute, 20);
  const written: string[][] = [];
  for (let minute = 0; minute <= 3; minute++) {
    const { series } = (await run.at(minute))!;
    const alerts = series.filter(({ labels }) => labelValue(labels, METRIC_NAME) === 'ALERTS');
    const marks = ({ values }: SampleColumns) => (Number.isNaN(values[0]) ? 'ends' : 'is there');
    written.push(alerts.map((each) => `${labelValue(each.labels, 'alertstate')} ${marks(each)}`));
  }
  expect(written).toEqual([
    ['pending is there', 'firing ends'],
    ['pending is there'],
    ['firing is there', 'pending ends'],
    ['firing is there'],
  ]);
});

test('ticks missed in an outage are evaluated later: no hole, and `for` counts through the outage', async () => {
  const [timely, late] = [new Run(), new Run()];
  for (let minute = 0; minute <= 25; minute++)
    for (const run of [timely, late]) run.load(minute, 20 + minute);
  const said: string[] = [];
  for (let minute = 0; minute <= 25; minute++) said.push(...saidOf(await timely.at(minute)));
  expect(said).toEqual(['firing']);
  await late.at(0);
  late.reads = 0;
  const advanced = await late.at(25);
  expect(advanced).toMatchObject({ ticks: 25, skipped: 0, hasMore: false, isLate: false });
  expect(samplesOf(advanced, 'job:load:sum')).toEqual(Array.from({ length: 25 }, (_, i) => [i + 1, 21 + i]));
  // Only the current state is reported, not what happened during the outage.
  expect(saidOf(advanced)).toEqual(['firing']);
  expect(late.state!.rules).toEqual(timely.state!.rules);
  expect(await late.store.select([], { fromMs: 0, toMs: Infinity })).toEqual(
    await timely.store.select([], { fromMs: 0, toMs: Infinity }),
  );
  // One read of `load` and one of the recorded series serve all 25 ticks.
  expect(late.reads).toBe(2);
});

test('receivers are not notified of an alert that fired and ended within an outage', async () => {
  const run = new Run();
  for (let minute = 0; minute <= 12; minute++) run.load(minute, minute >= 2 && minute <= 8 ? 20 : 1);
  await run.at(0);
  const advanced = await run.at(12);
  expect(samplesOf(advanced, 'ALERTS').filter(([, value]) => value === 1)).toHaveLength(7);
  expect(saidOf(advanced)).toEqual([]);
});

test('ticks for which time does not suffice are left for the next call, and notify nobody yet', async () => {
  const run = new Run();
  for (let minute = 0; minute <= 6; minute++) run.load(minute, 20);
  await run.at(0);
  let ticks = 0;
  run.hasTime = () => ++ticks < 4;
  expect(await run.at(6)).toMatchObject({ ticks: 4, hasMore: true, notifications: [] });
  run.hasTime = () => true;
  const rest = await run.at(6);
  expect(rest).toMatchObject({ ticks: 2, hasMore: false });
  expect(saidOf(rest)).toEqual(['firing']);
});

test.each([
  { failure: 'error' as const, message: 'a store did not answer' },
  { failure: 'incomplete' as const, message: 'samples are missing' },
])(
  'a read that fails ($failure) resolves nothing; its tick is put off, and leaves no hole',
  async ({ failure, message }) => {
    const run = new Run();
    for (let minute = 0; minute <= 4; minute++) run.load(minute, 20);
    for (const minute of [0, 1, 2]) await run.at(minute);
    run.failure = failure;
    const advanced = await run.at(3);
    expect(advanced).toMatchObject({ ticks: 0, hasMore: false, series: [], notifications: [] });
    expect(run.alerts()).toEqual(['firing shop']);
    expect(run.state!.tickMs).toBe(START_MS + 2 * MINUTE_MS);
    expect(run.state!.rules.map(({ lastError }) => lastError)).toEqual([message, message]);
    run.failure = 'none';
    const rest = await run.at(4);
    expect(rest).toMatchObject({ ticks: 2, notifications: [] });
    expect(samplesOf(rest, 'job:load:sum')).toEqual([
      [3, 20],
      [4, 20],
    ]);
    expect(run.state!.rules.map(({ lastError }) => lastError)).toEqual([undefined, undefined]);
  },
);

test('a tick that cannot be read for a quarter of an hour is completed with its errors', async () => {
  const run = new Run();
  for (let minute = 0; minute <= 2; minute++) run.load(minute, 20);
  for (const minute of [0, 1, 2]) await run.at(minute);
  run.failure = 'error';
  expect(await run.at(16)).toMatchObject({ ticks: 0 });
  expect(await run.at(18)).toMatchObject({ ticks: 1, series: [], notifications: [] });
  expect(run.alerts()).toEqual(['firing shop']);
});

test('a changed expression keeps the alerts of a rule; changed labels end them', async () => {
  const run = new Run();
  for (let minute = 0; minute <= 5; minute++) run.load(minute, 20);
  for (const minute of [0, 1, 2]) await run.at(minute);
  run.rules = RULES.replace('> 10', '> 15');
  expect(saidOf(await run.at(3))).toEqual([]);
  expect(run.alerts()).toEqual(['firing shop']);
  run.rules = `${RULES}    labels: {team: web}\n`;
  const advanced = await run.at(4);
  expect(advanced!.notifications).toMatchObject([{ state: 'resolved', reason: 'rule removed' }]);
  // One marker ends the former alert's series; the other creates the series that the new alert will fire in.
  expect(samplesOf(advanced, 'ALERTS').filter(([, value]) => value === 'stale')).toHaveLength(2);
  expect(run.alerts()).toEqual(['pending shop']);
});

test('more alerts than the tenant may have fail the rule and change nothing', async () => {
  const run = new Run(`\n  - alert: Many\n    expr: load\n`);
  for (let i = 0; i < 11; i++)
    run.store.add(
      [
        [METRIC_NAME, 'load'],
        ['job', String(i)],
      ],
      START_MS - OFFSET_MS,
      1,
    );
  await run.at(0);
  expect(run.state!.rules[0]).toMatchObject({
    alerts: [],
    lastError: "the tenant's limit alertsPerRule of 10 is exceeded: 11 alerts",
  });
});

test('a silence holds back notifications, not series; silences are read only if receivers may be notified', async () => {
  const run = new Run().load(0, 1).load(1, 20).load(2, 20).load(3, 20).load(4, 20);
  run.silenced = ['shop'];
  for (const minute of [0, 1, 2]) await run.at(minute);
  expect(run.policyReads).toBe(0);
  const silenced = await run.at(3);
  expect(silenced!.notifications).toEqual([]);
  expect(silenced!.state.rules[1]!.alerts).toMatchObject([{ state: 'firing' }]);
  run.silenced = [];
  expect((await run.at(4))!.notifications).toMatchObject([{ state: 'firing' }]);
});

test('a rule that always fires, as a heartbeat, notifies receivers in each tick', async () => {
  const run = new Run(`
  - alert: Heartbeat
    expr: vector(1)
`);
  run.repeatsMs = [MINUTE_MS];
  const told = [];
  for (const minute of [0, 1, 2, 3]) told.push((await run.at(minute))!.notifications);
  expect(told.map((each) => each.map(({ state, repeatsMs }) => [state, repeatsMs]))).toEqual([
    [['firing', undefined]],
    ...Array(3).fill([['firing', [MINUTE_MS]]]),
  ]);
});

test('a removed group ends its series, and the alerts of which receivers were notified', async () => {
  const run = new Run().load(0, 20).load(1, 20).load(2, 20);
  for (const minute of [0, 1, 2]) await run.at(minute);
  const { series, notifications } = endRuleGroup(run.state!, 'tenant group', START_MS + 5 * MINUTE_MS);
  expect(series.map(({ labels }) => labelValue(labels, METRIC_NAME))).toEqual([
    'job:load:sum',
    'ALERTS',
    'ALERTS_FOR_STATE',
  ]);
  expect(notifications).toMatchObject([{ state: 'resolved', reason: 'rule removed' }]);
});

test('NaN and infinite values survive in a state', () => {
  const alert = { labels: [], annotations: [], state: 'firing' as const, activeAtMs: 0 };
  const rule = { identity: '', expr: 'x', series: [], told: [] };
  const alerts = [Number.NaN, Infinity, -Infinity, 0.1].map((value) => ({ ...alert, value }));
  const state: RuleGroupState = {
    tickMs: 0,
    evaluatedMs: 0,
    durationMs: 0,
    queryOffsetMs: 0,
    rules: [{ ...rule, alerts }],
  };
  expect(decodeJson(encodeJson(state))).toEqual(state);
});

test('a group that writes many samples catches up in several parts, so that each part fits into a response', async () => {
  const run = new Run(`
  - record: copy
    expr: load * 2`);
  const series = 2_000;
  const add = (minute: number) => {
    for (let i = 0; i < series; i++) {
      const labels = [[METRIC_NAME, 'load'] as const, ['job', `j${i}`] as const];
      run.store.add(labels, START_MS + minute * MINUTE_MS - OFFSET_MS, i);
    }
  };
  for (let minute = 0; minute <= 58; minute += 2) add(minute);
  await run.at(0);
  expect(await run.at(59)).toMatchObject({ ticks: 50, skipped: 0, hasMore: true, notifications: [] });
  expect(await run.at(59)).toMatchObject({ ticks: 9, hasMore: false });
});
