import { scopesText, stateOf, timesText } from '../../../functions/page/browser/downtimes/downtime-text';
import {
  draftWith,
  type Field,
  fieldValue,
  parseText,
  problemsOf,
  textOf,
} from '../../../functions/page/browser/forms/fields';
import { monitorFields, newMonitor } from '../../../functions/page/browser/monitors/monitor-fields';
import { alertName, conditionText, whereText } from '../../../functions/page/browser/monitors/monitor-text';
import type { Downtime } from '../../../shared/monitors/downtime';
import { MONITOR_TYPES, type Monitor, monitorSpec } from '../../../shared/monitors/monitor';

const number: Field = { name: 'warning', kind: 'number' };

describe('a draft', () => {
  test('loses a field that is emptied, and a nested object that becomes empty', () => {
    const draft = { name: 'a', recurrence: { type: 'daily' }, memo: '' };
    expect(draftWith(draft, 'recurrence.type', undefined)).toEqual({ name: 'a', memo: '' });
    expect(draftWith(draft, 'recurrence.interval', 2)).toEqual({
      ...draft,
      recurrence: { type: 'daily', interval: 2 },
    });
    expect(draftWith({}, 'recurrence.type', 'daily')).toEqual({ recurrence: { type: 'daily' } });
    expect(fieldValue({ recurrence: null }, 'recurrence.type')).toBeUndefined();
  });

  test.each<{ field: Field; text: string; value: unknown }>([
    { field: number, text: '1.5', value: 1.5 },
    { field: number, text: ' ', value: undefined },
    { field: number, text: 'three', value: 'three' },
    { field: { name: 'memo', kind: 'long' }, text: ' a ', value: ' a ' },
    {
      field: { name: 'headers', kind: 'headers' },
      text: 'A: b\nHost:x:1',
      value: [
        { name: 'A', value: 'b' },
        { name: 'Host', value: 'x:1' },
      ],
    },
    { field: { name: 'headers', kind: 'headers' }, text: '', value: [] },
  ])('takes $text of a field of kind $field.kind as $value', ({ field, text, value }) => {
    expect(parseText(field, text)).toEqual(value);
  });

  test('shows headers as lines', () => {
    const headers = [{ name: 'A', value: 'b' }];
    expect(textOf({ name: 'headers', kind: 'headers' }, headers)).toBe('A: b');
  });
});

describe('a refusal', () => {
  const fields: Field[] = [
    number,
    { name: 'scopes', kind: 'several' },
    { name: 'recurrence.type', kind: 'choice' },
  ];

  test.each<{ message: string; at: Record<string, string>; other?: string }>([
    { message: 'warning: expected number, got "x"', at: { warning: 'expected number, got "x"' } },
    {
      message: 'monitor.warning is missing; scopes.0: there is no role "a; b: c"',
      at: { warning: 'is missing', scopes: 'there is no role "a; b: c"' },
    },
    { message: 'recurrence.type: expected one of a, b', at: { 'recurrence.type': 'expected one of a, b' } },
    { message: 'there are 500 already, the maximum', at: {}, other: 'there are 500 already, the maximum' },
    { message: 'url: no private address', at: {}, other: 'url: no private address' },
  ])('$message', ({ message, at, other }) => {
    const problems = problemsOf(message, fields);
    expect(Object.fromEntries(problems.byField)).toEqual(at);
    expect(problems.other).toBe(other);
  });
});

describe('the form of a monitor', () => {
  test.each(MONITOR_TYPES)('of type %s has each field of the API once', (type) => {
    const shape = monitorSpec.options.find((each) => each.shape.type.value === type)!.shape;
    const names = monitorFields(type, []).map(({ name }) => name);
    expect(names.toSorted()).toEqual(
      Object.keys(shape)
        .filter((name) => name !== 'type')
        .sort(),
    );
    expect(newMonitor(type)).toMatchObject({ type });
  });
});

test.each<{ monitor: object; condition: string; where: string }>([
  {
    monitor: { type: 'connectivity', scopes: ['shop'], excludeScopes: ['shop: db'] },
    condition: 'CRITICAL when a host has posted nothing for 10 minutes',
    where: 'shop, except shop: db',
  },
  {
    monitor: {
      type: 'host',
      metric: 'cpu%',
      operator: '<',
      warning: 3,
      critical: null,
      duration: 3,
      maxCheckAttempts: 2,
    },
    condition: 'cpu% < 3 WARNING, average of 3 points, 2 in a row',
    where: 'all hosts',
  },
  {
    monitor: { type: 'service', service: 'shop', metric: 'orders', missingDurationCritical: 10 },
    condition: 'orders CRITICAL without points for 10 min',
    where: 'service shop',
  },
  {
    monitor: { type: 'external', url: 'https://a', service: 'shop', responseTimeWarning: 300 },
    condition: 'GET https://a > 300 ms WARNING',
    where: 'service shop',
  },
  {
    monitor: { type: 'query', query: 'up', operator: '<', critical: 1 },
    condition: 'up < 1 CRITICAL',
    where: '',
  },
])('$monitor.type: $condition', ({ monitor, condition, where }) => {
  expect(conditionText(monitor as Monitor)).toBe(condition);
  expect(whereText(monitor as Monitor)).toBe(where);
});

test.each([
  { type: 'query', series: { name: 'up', labels: { job: 'shop' } }, shown: 'errors of shop' },
  { type: 'query', series: undefined, shown: 'errors of ' },
  { type: 'host', series: undefined, shown: 'errors of {{job}}' },
])('an alert of a $type monitor is named $shown', ({ type, series, shown }) => {
  expect(alertName({ type, name: 'errors of {{job}}' } as Monitor, { series })).toBe(shown);
});

describe('a downtime', () => {
  const start = Date.UTC(2026, 10, 23, 12) / 1000;
  const once: Downtime = { id: 'd', name: 'd', start, duration: 90 };
  const weekly: Downtime = {
    ...once,
    recurrence: { type: 'weekly', interval: 2, weekdays: ['Monday'], until: start + 86_400 * 30 },
  };

  test('says when it holds, and for what', () => {
    expect(timesText(once, true)).toBe('2026-11-23 12:00 for 1 h 30 min');
    expect(timesText(weekly, true)).toBe(
      'every 2 weeks on Monday from 2026-11-23 12:00 for 1 h 30 min, until 2026-12-23 12:00',
    );
    expect(scopesText(once, (id) => id)).toBe('everything');
    const scoped = { ...once, serviceScopes: ['shop'], monitorExcludeScopes: ['m1'] };
    expect(scopesText(scoped, () => 'load')).toBe('shop, except load');
  });

  test.each([
    { downtime: once, atS: start - 1, isNow: false, state: 'coming' },
    { downtime: once, atS: start, isNow: true, state: 'now' },
    { downtime: once, atS: start + 90 * 60, isNow: false, state: 'over' },
    { downtime: weekly, atS: start + 86_400, isNow: false, state: 'coming' },
    { downtime: weekly, atS: start + 86_400 * 31, isNow: false, state: 'over' },
  ])('is $state', ({ downtime, atS, isNow, state }) => {
    expect(stateOf(downtime, atS, isNow)).toBe(state);
  });
});
