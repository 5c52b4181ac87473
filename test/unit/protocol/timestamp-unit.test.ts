import { SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import { DAY_MS } from '../../../shared/model/duration';
import type { Precision } from '../../../shared/protocol/influx/line-reader';
import { influxLines } from '../../../shared/protocol/influx/lines';
import { dropHint } from '../../../shared/protocol/mackerel/json';
import { likelyUnit } from '../../../shared/protocol/timestamp-unit';

const nowMs = Date.UTC(2026, 10, 22);

test.each([
  { count: nowMs / 1000, unit: 'seconds' },
  { count: nowMs, unit: 'milliseconds' },
  { count: nowMs * 1e3, unit: 'microseconds' },
  { count: nowMs * 1e6, unit: 'nanoseconds' },
  { count: 0, unit: undefined },
  { count: 60, unit: undefined },
  { count: -nowMs, unit: undefined },
  { count: 1e30, unit: undefined },
])('$count is likely $unit', ({ count, unit }) => {
  expect(likelyUnit(count)?.name).toBe(unit);
});

describe('lines of another precision than they say', () => {
  const hint = (precision: Precision, ...counts: (string | number)[]) =>
    influxLines.parse(
      new SeriesDictionary('t'),
      Buffer.from(counts.map((count) => `a b=1 ${count}`).join('\n')),
      { nowMs, maxAgeMs: 86_400_000 },
      { precision },
    ).dropped.hint;

  test.each<{ precision: Precision; count: string; says: string }>([
    { precision: 'ns', count: `${nowMs / 1000}`, says: 'look like seconds: add precision=s' },
    { precision: 'ns', count: `${nowMs}`, says: 'look like milliseconds: add precision=ms' },
    { precision: 'ns', count: `${nowMs}000`, says: 'look like microseconds: add precision=us' },
    { precision: 'ms', count: `${nowMs / 1000}`, says: 'look like seconds: add precision=s' },
    { precision: 's', count: `${nowMs}`, says: 'look like milliseconds: add precision=ms' },
    { precision: 's', count: `${nowMs}000`, says: 'look like microseconds: add precision=us' },
  ])('$count with precision=$precision: $says, naming the first line', ({ precision, count, says }) => {
    expect(hint(precision, '', count, count)).toBe(`line 2: timestamps ${says}`);
  });

  test.each<{ name: string; precision: Precision; counts: (string | number)[] }>([
    { name: 'a good time', precision: 'ns', counts: [`${nowMs}000000`] },
    { name: 'a time too old in its own unit', precision: 's', counts: [nowMs / 1000 - 1e6] },
    { name: 'a count that is a time in no unit', precision: 'ns', counts: [60] },
  ])('$name gets no hint', ({ precision, counts }) => {
    expect(hint(precision, ...counts)).toBeUndefined();
  });
});

test.each([
  { elements: [{ time: nowMs / 1000 }, { time: nowMs }], hint: 'milliseconds (the first at index 1)' },
  { elements: [null, 7, { time: 'x' }, { time: nowMs * 1e6 }], hint: 'nanoseconds (the first at index 3)' },
])("JSON's times: $hint", ({ elements, hint }) => {
  expect(dropHint(elements, new Map([['tooNew', 1]]), DAY_MS)).toBe(
    `tooNew: more than 24 h ahead; times look like ${hint}: send seconds`,
  );
});

test.each([{ elements: null }, { elements: [] }, { elements: [{ time: nowMs / 1000 + 1e6 }] }])(
  'JSON of seconds, or of nothing, gets no hint of a unit',
  ({ elements }) => {
    expect(dropHint(elements, new Map([['tooNew', 1]]), DAY_MS)).toBe('tooNew: more than 24 h ahead');
  },
);
