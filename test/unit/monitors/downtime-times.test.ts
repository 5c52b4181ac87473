import type { Downtime } from '../../../shared/monitors/downtime';
import { holdsAt } from '../../../shared/monitors/downtime-times';
import { concerns } from '../../../shared/monitors/scope';

const at = (text: string) => Date.parse(`${text}Z`);
const start = at('2026-01-31T10:00') / 1000;

/** 31 January 2026 is a Saturday. */
test.each([
  {
    name: 'once',
    recurrence: undefined,
    duration: 60,
    holds: ['2026-01-31T10:00', '2026-01-31T10:59'],
    not: ['2026-01-31T09:59', '2026-01-31T11:00', '2026-02-01T10:00'],
  },
  {
    name: 'every second hour',
    recurrence: { type: 'hourly', interval: 2 },
    duration: 30,
    holds: ['2026-01-31T12:29', '2026-02-01T00:00'],
    not: ['2026-01-31T11:00', '2026-01-31T12:30', '2026-01-31T08:00'],
  },
  {
    name: 'every third day',
    recurrence: { type: 'daily', interval: 3 },
    duration: 60,
    holds: ['2026-02-03T10:30'],
    not: ['2026-02-01T10:30', '2026-02-03T11:00'],
  },
  {
    name: 'weekly on its own day',
    recurrence: { type: 'weekly', interval: 1 },
    duration: 60,
    holds: ['2026-02-07T10:30'],
    not: ['2026-02-06T10:30'],
  },
  {
    name: 'weekly on Monday and Saturday, every second week',
    recurrence: { type: 'weekly', interval: 2, weekdays: ['Monday', 'Saturday'] },
    duration: 60,
    holds: ['2026-01-31T10:30', '2026-02-09T10:30', '2026-02-14T10:30'],
    not: ['2026-01-26T10:30', '2026-02-02T10:30', '2026-02-07T10:30'],
  },
  {
    name: 'weekly, over midnight from Sunday to Monday',
    recurrence: { type: 'weekly', interval: 1, weekdays: ['Sunday'] },
    duration: 20 * 60,
    holds: ['2026-02-01T23:59', '2026-02-02T05:59'],
    not: ['2026-02-02T06:00'],
  },
  {
    name: 'monthly on the 31st or the last day',
    recurrence: { type: 'monthly', interval: 1 },
    duration: 60,
    holds: ['2026-02-28T10:30', '2026-03-31T10:30', '2026-04-30T10:30'],
    not: ['2026-03-28T10:30', '2026-02-27T10:30'],
  },
  {
    name: 'every second month',
    recurrence: { type: 'monthly', interval: 2 },
    duration: 60,
    holds: ['2026-03-31T10:30'],
    not: ['2026-02-28T10:30'],
  },
  {
    name: 'yearly',
    recurrence: { type: 'yearly', interval: 1 },
    duration: 60,
    holds: ['2028-01-31T10:30'],
    not: ['2027-01-30T10:30', '2027-02-28T10:30'],
  },
  {
    name: 'daily until a day',
    recurrence: { type: 'daily', interval: 1, until: at('2026-02-02T00:00') / 1000 },
    duration: 60,
    holds: ['2026-02-01T10:30'],
    not: ['2026-02-02T10:30'],
  },
  {
    name: 'daily, and longer than a day',
    recurrence: { type: 'daily', interval: 1 },
    duration: 36 * 60,
    holds: ['2026-02-01T05:00', '2026-02-03T23:00'],
    not: ['2026-01-31T09:59'],
  },
])('a downtime $name', ({ recurrence, duration, holds, not }) => {
  const times = { start, duration, recurrence: recurrence as Downtime['recurrence'] };
  const all = [...holds, ...not];
  expect(all.filter((time) => holdsAt(times, at(time)))).toEqual(holds);
});

const host = { monitorId: 'm1', roles: { shop: ['db', 'web'] } };
const service = { monitorId: 'm2', service: 'shop' };
const expression = { monitorId: 'm3' };

test.each([
  { scopes: {}, concerned: [true, true, true] },
  { scopes: { serviceScopes: ['shop'] }, concerned: [true, true, false] },
  { scopes: { serviceScopes: ['blog'] }, concerned: [false, false, false] },
  { scopes: { serviceExcludeScopes: ['shop'] }, concerned: [false, false, true] },
  { scopes: { roleScopes: ['shop: db'] }, concerned: [true, false, false] },
  { scopes: { roleExcludeScopes: ['shop:db'] }, concerned: [false, true, true] },
  { scopes: { monitorScopes: ['m1', 'm3'] }, concerned: [true, false, true] },
  { scopes: { monitorScopes: ['m1', 'm3'], roleScopes: ['shop:db'] }, concerned: [true, false, false] },
  { scopes: { monitorExcludeScopes: ['m1'] }, concerned: [false, true, true] },
])('a downtime of $scopes', ({ scopes, concerned }) => {
  const downtime = { id: 'd', name: 'd', start, duration: 60, ...scopes };
  expect([host, service, expression].map((each) => concerns(downtime, each))).toEqual(concerned);
});

test('a service may have the name of a property of every object', () => {
  const downtime = { id: 'd', name: 'd', start, duration: 60, serviceScopes: ['constructor'] };
  expect(concerns(downtime, { monitorId: 'm', service: 'constructor' })).toBe(true);
  expect(
    concerns(
      { ...downtime, serviceScopes: undefined, roleScopes: ['constructor:web'] },
      { monitorId: 'm', service: 'constructor' },
    ),
  ).toBe(false);
});
