import { periodEndMs, periodsOf } from '../../../shared/catalogue/index-table';

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
