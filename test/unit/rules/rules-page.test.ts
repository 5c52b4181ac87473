import fc from 'fast-check';
import type { Alert } from '../../../shared/alerting/delivery/alert';
import { rulesQuery } from '../../../shared/http/contract/rules';
import { parsePrometheusQuery } from '../../../shared/http/prometheus-parameters';
import { labelsOf } from '../../../shared/model/labels';
import { ruleGroupOf } from '../../../shared/rules/rule-document';
import { carryOver, type RuleGroupState } from '../../../shared/rules/rule-group-state';
import { ruleGroupId, type StoredRuleGroup } from '../../../shared/rules/rule-groups';
import { activeAlerts, rulesPage } from '../../../shared/rules/rules-page';

const NOON_MS = Date.parse('2026-11-23T12:00:00Z');
const NO_SILENCE = () => [];

const groupOf = (namespace: string, name: string): StoredRuleGroup => ({
  namespace,
  document: {
    name,
    labels: { team: 'web', severity: 'page' },
    rules: [
      { record: 'job:load:sum', expr: 'sum by (job) (load)' },
      { alert: 'High', expr: 'load > 10', for: '1m', labels: { severity: 'info' } },
    ],
  },
});
const GROUPS = ['shop', 'web'].flatMap((namespace) =>
  ['a', 'b', 'c'].map((name) => groupOf(namespace, name)),
);

const alertOf = (fields: Partial<Alert>): Alert => ({
  labels: labelsOf(['alertname', 'High'], ['job', 'shop']),
  annotations: [],
  state: 'firing',
  value: 30,
  activeAtMs: NOON_MS,
  ...fields,
});

/** States in which each group was evaluated at noon, and its second rule has these alerts. */
function evaluated(alerts: readonly Alert[], lastError?: string): Map<string, RuleGroupState> {
  return new Map(
    GROUPS.map(({ namespace, document }) => [
      ruleGroupId(namespace, document.name),
      {
        tickMs: NOON_MS,
        evaluatedMs: NOON_MS + 1_500,
        durationMs: 250,
        queryOffsetMs: 0,
        rules: carryOver(ruleGroupOf(document), undefined).rules.map((rule, i) => ({
          ...rule,
          durationMs: 125,
          ...(i === 1 && { alerts, ...(lastError !== undefined && { lastError }) }),
        })),
      },
    ]),
  );
}

function list(query: string, states = evaluated([alertOf({})]), silencedBy?: () => readonly string[]) {
  const parsed = parsePrometheusQuery(rulesQuery, new URLSearchParams(query));
  return rulesPage(parsed, GROUPS, states, silencedBy, 30_000);
}

const rulesOf = (query: string, states?: Map<string, RuleGroupState>) =>
  list(query, states).groups.flatMap(({ name, file, rules }) => rules.map((rule) => ({ name, file, rule })));

describe('the list of rules', () => {
  test('has a rule as it is until its first evaluation', () => {
    const [group] = list('', new Map()).groups;
    expect(group).toMatchObject({
      file: 'shop',
      name: 'a',
      interval: 60,
      queryOffset: 30,
      evaluationTime: 0,
    });
    expect(group!.rules).toMatchObject([
      { name: 'job:load:sum', type: 'recording', health: 'unknown', labels: { severity: 'page' } },
      { name: 'High', state: 'unknown', health: 'unknown', duration: 60, alerts: null },
    ]);
    expect(group!.rules[1]!.lastEvaluation).toBe('0001-01-01T00:00:00Z');
  });

  test('has the outcome of the last evaluation', () => {
    const high = list('', evaluated([alertOf({})], 'too many series'), () => ['s1']).groups[0]!.rules[1];
    expect(high).toMatchObject({
      state: 'firing',
      health: 'err',
      lastError: 'too many series',
      evaluationTime: 0.125,
      lastEvaluation: '2026-11-23T12:00:01.5Z',
      // The labels of a rule replace those of its group.
      labels: { severity: 'info', team: 'web' },
      condition: { kind: 'threshold', query: 'load', op: '>', threshold: 10 },
      alerts: [{ labels: { alertname: 'High', job: 'shop' }, value: '3e+01', silencedBy: ['s1'] }],
    });
  });

  test.each([
    [[], 'inactive', 0],
    [['resolved'], 'inactive', 1],
    [['pending', 'resolved'], 'pending', 1],
    [['pending', 'firing'], 'firing', 0],
  ] as const)('a rule with alerts %j is %s', (states, state, resolved) => {
    const alerts = states.map((each) => alertOf({ state: each }));
    const high = list('', evaluated(alerts), NO_SILENCE).groups[0]!.rules[1];
    expect(high).toMatchObject({
      state,
      alerts: new Array(alerts.length - resolved).fill(expect.anything()),
    });
    expect((high as { resolvedAlerts?: unknown[] }).resolvedAlerts?.length ?? 0).toBe(resolved);
  });

  test.each([
    ['type=alert', ({ rule }) => rule.type === 'alerting'],
    ['type=record', ({ rule }) => rule.type === 'recording'],
    ['rule_name[]=High', ({ rule }) => rule.name === 'High'],
    ['rule_group[]=a&rule_group[]=c', ({ name }) => name !== 'b'],
    ['file[]=web', ({ file }) => file === 'web'],
    ['match[]={severity="info"}', ({ rule }) => rule.labels.severity === 'info'],
    ['match[]={team="x"}&match[]={severity="page"}', ({ rule }) => rule.labels.severity === 'page'],
    ['state=firing', ({ rule }) => 'state' in rule && rule.state === 'firing'],
    ['health=err', ({ rule }) => rule.health === 'err'],
    ['rule_name[]=Low', () => false],
  ] as [string, (each: ReturnType<typeof rulesOf>[number]) => boolean][])(
    'filtered by %s has exactly the rules that satisfy the filter',
    (query, test) => {
      expect(rulesOf(query)).toEqual(rulesOf('').filter(test));
      for (const { rules } of list(query).groups) expect(rules).not.toEqual([]);
    },
  );

  test('is the same on pages of any size', () => {
    for (let limit = 1; limit <= GROUPS.length + 1; limit++) {
      const pages = [];
      let token: string | undefined = '';
      for (let calls = 0; token !== undefined && calls < GROUPS.length; calls++) {
        const page: ReturnType<typeof list> = list(
          `type=alert&group_limit=${limit}&group_next_token=${token}`,
        );
        expect(page.groups.length).toBeLessThanOrEqual(limit);
        pages.push(...page.groups);
        token = page.groupNextToken;
      }
      expect(token).toBeUndefined();
      expect(pages).toEqual(list('type=alert').groups);
    }
  });

  test.each([
    ['group_next_token=x', 'invalid parameter "group_limit": '],
    ['group_limit=1&group_next_token=x', 'invalid parameter "group_next_token": '],
    ['match[]={', 'error parsing match[]: '],
    ['type=constructor', 'invalid parameter "type": not supported value "constructor"'],
  ])('is refused for %s', (query, message) => {
    expect(() => list(query)).toThrow(message);
  });
});

test('pending and firing alerts are active, resolved ones are not', () => {
  const states = ['pending', 'firing', 'resolved'] as const;
  const [state] = evaluated(states.map((each) => alertOf({ state: each }))).values();
  const active = activeAlerts(new Map([['id', state!]]), NO_SILENCE);
  expect(active.map((alert) => alert.state)).toEqual(['pending', 'firing']);
});

test('a time is exact, and its fraction has no zero at the end', () => {
  const time = fc.oneof(
    fc.nat(),
    fc.nat().map((s) => s * 1000),
    fc.integer({ min: 0, max: 4e12 }),
  );
  void fc.assert(
    fc.property(time, (activeAtMs) => {
      const [state] = evaluated([alertOf({ activeAtMs })]).values();
      const [{ activeAt } = { activeAt: '' }] = activeAlerts(new Map([['id', state!]]), NO_SILENCE);
      expect(Date.parse(activeAt)).toBe(activeAtMs);
      expect(activeAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d*[1-9])?Z$/);
    }),
  );
});
