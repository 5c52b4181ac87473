import { MemorySampleStore, STALE_BITS } from '../../../shared/promql/memory-store';
import { parseMetric, parseValues } from '../../../shared/promql/series-notation';
import { evaluateRuleGroup, type RuleState } from '../../../shared/rules/evaluate-rule-group';
import { instantVector } from '../../../shared/rules/instant-vector';
import { parseRuleFile } from '../../../shared/rules/rule-file';

const MINUTE_MS = 60_000;
const OPTIONS = {
  limits: { maxSeries: 1000, maxSamples: 100_000, maxValues: 100_000 },
  isLate: () => false,
};

/** Evaluates a group over stored series, tick by tick. */
class GroupRun {
  readonly store = new MemorySampleStore();
  states: RuleState[] = [];
  private readonly group;

  constructor(rules: string, series: readonly string[] = [], fields = '') {
    const { ruleGroups, faults } = parseRuleFile(`groups:\n- name: g\n${fields}  rules:\n${rules}`);
    expect(faults).toEqual([]);
    this.group = ruleGroups[0]!;
    for (const line of series) {
      const { labels, rest } = parseMetric(line);
      for (const [i, value] of parseValues(rest).entries())
        if (value !== undefined) this.store.add(labels, i * MINUTE_MS, value);
    }
  }

  /** Returns as strings what the tick wrote. */
  async tick(minute: number): Promise<string[]> {
    const written: string[] = [];
    const context = {
      tickMs: minute * MINUTE_MS,
      queryOffsetMs: this.group.queryOffsetMs ?? 0,
      externalLabels: [],
      externalUrl: '',
      query: (expr: string, atMs: number) => instantVector(this.store, expr, atMs, OPTIONS),
    };
    this.states = await evaluateRuleGroup(this.group, this.states, context, (samples, atMs) => {
      for (const { labels, value } of samples) {
        this.store.add(labels, atMs, value);
        const shown = value === STALE_BITS ? 'stale' : value;
        written.push(`${labels.map((pair) => pair.join('=')).join(',')} ${shown} @${atMs / 1000}`);
      }
    });
    return written;
  }

  errors(): (string | undefined)[] {
    return this.states.map(({ lastError }) => lastError);
  }
}

describe('a group of rules', () => {
  test('stores a recording rule under its name and labels', async () => {
    const run = new GroupRun(
      '  - {record: r, expr: m, labels: {own: x, a: ""}}\n',
      ['m{a="1",b="2"} 5'],
      '  labels: {team: t, own: y}\n',
    );
    expect(await run.tick(0)).toEqual(['__name__=r,b=2,own=x,team=t 5 @0']);
  });

  test('shows later rules the results of earlier rules in the same tick, including alerts', async () => {
    const run = new GroupRun(
      '  - {record: r, expr: m * 2}\n  - {alert: A, expr: r > 1}\n  - {record: n, expr: count(ALERTS)}\n',
      ['m{} 5'],
    );
    expect((await run.tick(0)).at(-1)).toBe('__name__=n 1 @0');
  });

  test('reads and writes at the tick minus its query offset', async () => {
    const run = new GroupRun('  - {record: r, expr: m}\n', ['m 1 2 3'], '  query_offset: 1m\n');
    expect(await run.tick(2)).toEqual(['__name__=r 2 @60']);
  });

  test('ends a series that a rule no longer yields with a stale marker', async () => {
    const run = new GroupRun('  - {record: r, expr: m > 1}\n', ['m{a="1"} 5 5 0', 'm{a="2"} 5 0 0']);
    expect(await run.tick(0)).toHaveLength(2);
    expect(await run.tick(1)).toEqual(['__name__=r,a=1 5 @60', '__name__=r,a=2 stale @60']);
    expect(await run.tick(2)).toEqual(['__name__=r,a=1 stale @120']);
  });

  test('ends the pending series of an alert when it fires', async () => {
    const run = new GroupRun('  - {alert: A, expr: m, for: 1m, labels: {s: "{{ $value }}"}}\n', [
      'm{a="1"} 7 7',
    ]);
    expect(await run.tick(0)).toEqual([
      '__name__=ALERTS,a=1,alertname=A,alertstate=pending,s=7 1 @0',
      '__name__=ALERTS_FOR_STATE,a=1,alertname=A,s=7 0 @0',
    ]);
    expect(await run.tick(1)).toEqual([
      '__name__=ALERTS,a=1,alertname=A,alertstate=firing,s=7 1 @60',
      '__name__=ALERTS_FOR_STATE,a=1,alertname=A,s=7 0 @60',
      '__name__=ALERTS,a=1,alertname=A,alertstate=pending,s=7 stale @60',
    ]);
  });

  test('keeps the state of a rule that fails, and writes nothing for it', async () => {
    const run = new GroupRun('  - {alert: A, expr: m + on() n}\n  - {record: r, expr: m}\n', [
      'm{} 1 1',
      'n{a="1"} 1 1',
      'n{a="2"} _ 1',
    ]);
    await run.tick(0);
    expect(run.states[0]!.alerts).toMatchObject([{ state: 'firing' }]);
    expect(await run.tick(1)).toEqual(['__name__=r 1 @60']);
    expect(run.states[0]!.alerts).toMatchObject([{ state: 'firing' }]);
    expect(run.errors()[0]).toMatch(/found duplicate series/);
    expect(run.errors()[1]).toBeUndefined();
  });

  test.each([
    [
      'two series of one label set',
      '  - {record: r, expr: m, labels: {a: ""}}\n',
      '',
      'vector contains metrics with the same labelset after applying rule labels',
    ],
    [
      'two alerts of one label set',
      '  - {alert: A, expr: m, labels: {a: x}}\n',
      '',
      'vector contains metrics with the same labelset after applying alert labels',
    ],
    [
      'more series than the limit',
      '  - {record: r, expr: m}\n',
      '  limit: 1\n',
      'exceeded limit of 1 with 2 series',
    ],
    [
      'more alerts than the limit',
      '  - {alert: A, expr: m}\n',
      '  limit: 1\n',
      'exceeded limit of 1 with 2 alerts',
    ],
    ['a range vector', '  - {record: r, expr: "m[5m]"}\n', '', 'rule result is not a vector or scalar'],
  ])('fails a rule that yields %s', async (_, rules, fields, message) => {
    const run = new GroupRun(rules, ['m{a="1"} 1', 'm{a="2"} 1'], fields);
    expect(await run.tick(0)).toEqual([]);
    expect(run.errors()).toEqual([message]);
  });

  test('evaluates a query of a template once for all alerts of a rule, at the tick itself', async () => {
    const run = new GroupRun(
      `  - {alert: A, expr: m, annotations: {n: '{{ with query "time()" }}{{ . | first | value }}{{ end }}'}}\n`,
      ['m{a="1"} 1 1', 'm{a="2"} 1 1'],
      '  query_offset: 30s\n',
    );
    await run.tick(1);
    expect(run.states[0]!.alerts.map(({ annotations }) => annotations)).toEqual([
      [['n', '60']],
      [['n', '60']],
    ]);
  });

  test('fires an alert although a template fails', async () => {
    const run = new GroupRun(`  - {alert: A, expr: 1, annotations: {n: '{{ query "nope(" | first }}'}}\n`);
    await run.tick(0);
    const [alert] = run.states[0]!.alerts;
    expect(alert!.state).toBe('firing');
    expect(alert!.annotations[0]![1]).toMatch(
      /^<error expanding template: error calling query: .*parse error/,
    );
  });
});
