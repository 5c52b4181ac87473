import { periodEndMs, periodsOf, rangeBeforeLastPeriod } from '../../../shared/catalogue/index-table';

const at = (text: string) => Date.parse(text);

test.each([
  { name: 'an hour', from: '2026-11-22T10:00Z', to: '2026-11-22T11:00Z', periods: ['2026-11-22'] },
  {
    name: 'an hour over midnight',
    from: '2026-11-21T23:30Z',
    to: '2026-11-22T00:30Z',
    periods: ['2026-11-21', '2026-11-22'],
  },
  { name: 'up to midnight', from: '2026-11-21T23:30Z', to: '2026-11-22T00:00Z', periods: ['2026-11-21'] },
  {
    name: 'three days',
    from: '2026-11-20T00:00Z',
    to: '2026-11-23T00:00Z',
    periods: ['2026-11-20', '2026-11-21', '2026-11-22'],
  },
  { name: 'four days', from: '2026-11-29T12:00Z', to: '2026-12-02T12:00Z', periods: ['2026-11', '2026-12'] },
  { name: 'nothing', from: '2026-11-22T00:00Z', to: '2026-11-22T00:00Z', periods: [] },
])('$name is looked up in $periods', ({ from, to, periods }) => {
  expect(periodsOf({ fromMs: at(from), toMs: at(to) })).toEqual(periods);
});

test.each([
  { period: '2026-11-30', end: '2026-12-01T00:00Z' },
  { period: '2026-12', end: '2027-01-01T00:00Z' },
])('$period ends at $end', ({ period, end }) => {
  expect(periodEndMs(period)).toBe(at(end));
});

test.each([
  {
    name: 'an hour: the day before its day',
    range: ['2026-11-22T10:00Z', '2026-11-22T11:00Z'],
    before: ['2026-11-21T00:00Z', '2026-11-22T00:00Z'],
  },
  {
    name: 'three days: the first two',
    range: ['2026-11-20T06:00Z', '2026-11-22T06:00Z'],
    before: ['2026-11-20T06:00Z', '2026-11-22T00:00Z'],
  },
  {
    name: 'days of a month: the month before',
    range: ['2027-01-05T00:00Z', '2027-01-20T00:00Z'],
    before: ['2026-12-01T00:00Z', '2027-01-01T00:00Z'],
  },
  {
    name: 'months: all but the last',
    range: ['2026-09-10T00:00Z', '2026-11-20T00:00Z'],
    before: ['2026-09-10T00:00Z', '2026-11-01T00:00Z'],
  },
])('what shows that a series began before the last period of $name', ({ range, before }) => {
  const [fromMs, toMs] = range.map(at);
  const [beforeMs, endMs] = before.map(at);
  expect(rangeBeforeLastPeriod({ fromMs: fromMs!, toMs: toMs! })).toEqual({ fromMs: beforeMs, toMs: endMs });
});
