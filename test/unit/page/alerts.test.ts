import { activeSpan, graphSpan, queryOfAlert } from '../../../functions/page/browser/alerts/alert-query';
import { lateGroups, listAlerts, silenceOf } from '../../../functions/page/browser/alerts/listed-alerts';
import { queryOfMonitorAlert } from '../../../functions/page/browser/alerts/monitor-alert-query';
import { newSilence } from '../../../functions/page/browser/alerts/new-silence';
import { reasonOf } from '../../../functions/page/browser/alerts/reason';
import type { Alert, AlertingRule, RuleGroup, Silence } from '../../../functions/page/browser/api/alerting';
import { alertsOfSeries, alertText, spansOf } from '../../../functions/page/browser/explore/alert-spans';
import type { AlertRecord } from '../../../shared/monitors/alert-record';
import type { Monitor } from '../../../shared/monitors/monitor';
import { parsePromql } from '../../../shared/promql/parser';

const NOON = Date.parse('2026-11-23T12:00:00Z') / 1000;
const at = (afterS: number) => new Date((NOON + afterS) * 1000).toISOString().replace('.000', '');

const alert = (given: Partial<Alert> = {}): Alert => ({
  labels: { alertname: 'High', job: 'shop', team: 'web' },
  annotations: {},
  state: 'firing',
  activeAt: at(0),
  firedAt: at(60),
  value: '3.2e+01',
  ...given,
});

const rule = (given: Partial<AlertingRule> = {}): AlertingRule => ({
  type: 'alerting',
  name: 'High',
  query: 'load > 10',
  labels: { team: 'web' },
  health: 'ok',
  evaluationTime: 0.01,
  lastEvaluation: at(120),
  state: 'firing',
  duration: 60,
  keepFiringFor: 300,
  condition: { kind: 'threshold', query: 'load', op: '>', threshold: 10 },
  alerts: [],
  ...given,
});

const group = (given: Partial<RuleGroup> = {}): RuleGroup => ({
  name: 'load',
  file: 'web',
  rules: [],
  interval: 60,
  queryOffset: 5,
  evaluationTime: 0.1,
  lastEvaluation: at(120),
  ...given,
});

const listed = (ofAlert: Partial<Alert> = {}, ofRule: Partial<AlertingRule> = {}) => ({
  id: 'x',
  alert: alert(ofAlert),
  rule: rule(ofRule),
  group: group(),
});

test('alerts of all rules are listed by state, those that came into it last first', () => {
  const active = [
    alert({ labels: { alertname: 'High', job: 'b' }, firedAt: at(60) }),
    alert({ labels: { alertname: 'High', job: 'a' }, firedAt: at(120) }),
    alert({ labels: { alertname: 'High', job: 'c' }, state: 'pending' }),
  ];
  const ended = [alert({ labels: { alertname: 'High', job: 'd,e' }, state: 'resolved', resolvedAt: at(90) })];
  const recording = { ...rule(), type: 'recording' } as const;
  const { firing, pending, resolved } = listAlerts([
    group({ rules: [recording, rule({ alerts: active, resolvedAlerts: ended })] }),
  ]);
  expect(firing.map(({ id }) => id)).toEqual(['alertname=High,job=a', 'alertname=High,job=b']);
  expect(pending.map(({ id }) => id)).toEqual(['alertname=High,job=c']);
  expect(resolved.map(({ id }) => id)).toEqual(['alertname=High,job=d\\,e']);
});

test('a group is late three intervals after its last evaluation, and one that is new never is', () => {
  const groups = [
    group({ name: 'minute' }),
    group({ name: 'hour', interval: 3600 }),
    group({ name: 'new', lastEvaluation: '0001-01-01T00:00:00Z' }),
  ];
  const names = (afterS: number) => lateGroups(groups, NOON + afterS).map(({ name }) => name);
  expect(names(300)).toEqual([]);
  expect(names(301)).toEqual(['minute']);
});

test.each([
  {
    name: 'a threshold',
    given: listed(),
    says: ['32 is more than 10.'],
  },
  {
    name: 'a pending alert',
    given: listed({ state: 'pending' }, { duration: 300 }),
    says: ['32 is more than 10.', 'It fires once this has been true for 5 min.'],
  },
  {
    name: 'series that are missing',
    given: listed({ value: '1e+00' }, { condition: { kind: 'absence', query: 'up{job="api"}' } }),
    says: ['Missing since 2026-11-23 12:00:00: up{job="api"}'],
  },
  {
    name: 'a query that fails',
    given: listed({}, { health: 'err', lastError: 'a store did not answer' }),
    says: ['32 is more than 10.', 'The query fails, so the alert stays as it was: a store did not answer'],
  },
  {
    name: 'an alert that its rule keeps firing',
    given: listed({ keepFiringSince: at(600) }),
    says: [
      '32 is more than 10.',
      'No longer true since 2026-11-23 12:10:00; the rule keeps it firing for 5 min.',
    ],
  },
  {
    name: 'an alert that ended',
    given: listed({ state: 'resolved', resolvedAt: at(900) }),
    says: ['32 was more than 10.', 'No longer true since 2026-11-23 12:15:00.'],
  },
  {
    name: 'an expression that says no more',
    given: listed({ value: '+Inf' }, { condition: undefined }),
    says: ['The expression has a result, +Inf.'],
  },
])('a reason of $name', ({ given, says }) => {
  expect(reasonOf(given, 'float', true)).toEqual(says);
});

describe('the graph of an alert', () => {
  test.each([
    {
      name: 'shows its own series alone, by labels that are not of the rule',
      given: listed({ labels: { alertname: 'High', job: 'a"$1', team: 'web', 'service.name': 'x' } }),
      query:
        '(load) and on (job, "service.name") label_replace(label_replace(vector(0), "job", "a\\"$$1", "", ""), "service.name", "x", "", "")',
    },
    {
      name: 'shows the whole query where the alert has no labels of its own',
      given: listed({ labels: { alertname: 'High', team: 'web' } }),
      query: 'load',
    },
    {
      name: 'shows what is missing',
      given: listed({}, { condition: { kind: 'absence', query: 'up{job="api"}' } }),
      query: 'up{job="api"}',
    },
    {
      name: 'shows the expression where it says no threshold',
      given: listed({ labels: { alertname: 'High' } }, { condition: undefined, query: 'a > b' }),
      query: 'a > b',
    },
  ])('$name', ({ given, query }) => {
    expect(queryOfAlert(given)).toBe(query);
    expect(() => parsePromql(query)).not.toThrow();
  });

  test('shades when the alert was active, and has as much before it', () => {
    const firing = listed();
    expect(activeSpan(firing, NOON + 7200)).toEqual({ fromS: NOON, toS: NOON + 7200 });
    expect(graphSpan(activeSpan(firing, NOON + 7200), NOON + 7200)).toEqual({
      fromS: NOON - 7200,
      toS: NOON + 7200,
    });
    expect(graphSpan(activeSpan(firing, NOON + 60), NOON + 60).fromS).toBe(NOON - 1800);
    const ended = listed({ state: 'resolved', resolvedAt: at(600) });
    expect(activeSpan(ended, NOON + 7200)).toEqual({ fromS: NOON, toS: NOON + 600 });
    // For an alert that lasts months, only the last weeks are shown.
    const year = 365 * 86_400;
    expect(graphSpan(activeSpan(firing, NOON + year), NOON + year).fromS).toBe(NOON + year - 37 * 86_400);
  });
});

describe('a silence', () => {
  const labels = { alertname: 'High', job: 'shop' };

  test('of several, the one that ends last is shown', () => {
    const silence = (id: string, afterS: number): Silence => ({
      id,
      matchers: [],
      startsAt: at(0),
      endsAt: at(afterS),
      createdBy: 'me',
      comment: 'known',
    });
    const silences = [silence('a', 60), silence('b', 120), silence('c', 90), silence('d', 180)];
    expect(silenceOf(alert({ silencedBy: ['a', 'b', 'c'] }), silences)?.id).toBe('b');
    expect(silenceOf(alert(), silences)).toBeUndefined();
  });

  test('is about one alert, or all of its name', () => {
    const made = newSilence(labels, 'alert', 'known', 3600, NOON * 1000);
    expect(made).toEqual({
      matchers: [
        { name: 'alertname', value: 'High', isRegex: false, isEqual: true },
        { name: 'job', value: 'shop', isRegex: false, isEqual: true },
      ],
      startsAt: '2026-11-23T12:00:00.000Z',
      endsAt: '2026-11-23T13:00:00.000Z',
      createdBy: 'the page',
      comment: 'known',
    });
    expect(newSilence(labels, 'name', 'known', 3600, 0).matchers.map(({ name }) => name)).toEqual([
      'alertname',
    ]);
  });
});

describe('spans of alerts in a graph', () => {
  test('join the steps in which an alert fired, and begin a step before', () => {
    const labels = { alertname: 'High', job: 'shop' };
    const spans = spansOf(
      {
        resultType: 'matrix',
        result: [
          {
            metric: { ...labels, alertstate: 'firing' },
            values: [60, 120, 300].map((timeS) => [timeS, '1']),
          },
          { metric: { alertname: 'Low', alertstate: 'firing' }, values: [[60, '1']] },
        ],
      },
      60,
    );
    expect(spans).toEqual([
      { labels, from: 0, to: 120 },
      { labels: { alertname: 'Low' }, from: 0, to: 60 },
      { labels, from: 240, to: 300 },
    ]);
  });

  test('are those of alerts that agree with a series in every label that both have', () => {
    const labelled: Record<string, string>[] = [
      { alertname: 'High', job: 'shop', team: 'web' },
      { alertname: 'High', job: 'blog' },
      { alertname: 'Anything', severity: 'page' },
    ];
    const spans = labelled.map((labels) => ({ labels, from: 0, to: 1 }));
    const found = alertsOfSeries(spans, [{ __name__: 'load', job: 'shop', instance: 'a' }]);
    expect(found.map(({ labels }) => alertText(labels))).toEqual(['High{job="shop", team="web"}']);
    expect(alertsOfSeries(spans, [{}])).toEqual([]);
  });
});

describe("the graph of a monitor's alert", () => {
  const alert: AlertRecord = {
    id: '1',
    status: 'CRITICAL',
    monitorId: 'm',
    type: 'host',
    openedAt: NOON,
    hostId: 'h1',
  };

  test.each<{ monitor: object | undefined; query: string | undefined }>([
    { monitor: { type: 'host', metric: 'loadavg5' }, query: '{__name__="loadavg5",host="h1"}' },
    { monitor: { type: 'host', metric: 'cpu%' }, query: undefined },
    {
      monitor: { type: 'service', service: 'shop', metric: 'orders' },
      query: '{__name__="orders",host="",service="shop"}',
    },
    {
      monitor: { type: 'external', id: 'm', url: 'https://a', service: 'shop' },
      query: '{__name__="__externalhttp.responsetime.m",host="",service="shop"}',
    },
    { monitor: { type: 'external', id: 'm', url: 'https://a' }, query: undefined },
    {
      monitor: { type: 'expression', expression: 'max(host(h1, loadavg5))' },
      query: 'max({__name__="loadavg5",host="h1"})',
    },
    { monitor: { type: 'expression', expression: 'max(' }, query: undefined },
    { monitor: { type: 'connectivity' }, query: undefined },
    { monitor: undefined, query: undefined },
  ])('of $monitor.type has the query $query', ({ monitor, query }) => {
    expect(queryOfMonitorAlert(alert, monitor as Monitor | undefined, [])).toBe(query);
  });

  test('of a query has only its own series', () => {
    const series = { name: 'load', labels: { job: 'a' } };
    const monitor = { type: 'query', query: 'load' } as Monitor;
    expect(queryOfMonitorAlert({ ...alert, series }, monitor, [])).toBe(
      '(load) and on (job) label_replace(vector(0), "job", "a", "", "")',
    );
  });
});
