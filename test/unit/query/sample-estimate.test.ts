import type { ArchivedChunk, ListedChunk } from '../../../shared/cold/archive-format';
import { idOf } from '../../../shared/model/id';
import { labelsOf, METRIC_NAME } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import { equals } from '../../../shared/model/matcher';
import type { Selection } from '../../../shared/model/selection';
import { ExpectedSamples, ReadBudget } from '../../../shared/query/read-budget';
import { estimateSamples } from '../../../shared/query/sample-estimate';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const series = ['a', 'b', 'c', 'd'].map((name) => labelsOf([METRIC_NAME, name]));
const layout = layoutOf(series);
const matchers = [equals(METRIC_NAME, 'a')];

function selectionOf(names: number, fromMs = 0, toMs = 10 * DAY): Selection {
  const wanted = layoutOf(series.slice(0, names));
  return { wanted, groups: ['g'], range: { fromMs, toMs }, layouts: new Map([[layout.id, layout]]) };
}

/** A day's chunk of four series, one sample a minute each. */
function chunkOf(day: number, changed: Partial<ArchivedChunk> = {}): ListedChunk {
  const range = { offset: 0, length: 1 };
  const times = { minTimestamp: day * DAY, maxTimestamp: (day + 1) * DAY - 1 };
  const chunk = { group: 'g', layout: layout.id, samples: 4 * 1440, ...times, ...range, ...changed };
  return { chunk: { ...chunk, skeleton: range, layoutRange: range }, directory: undefined };
}

function asksOf(chunks: readonly ListedChunk[], key = 'k') {
  const days = [{ day: '1970-01-01', key: 'k', isContested: () => false }];
  return { samples: { days, directory: new Map([['1970-01-01', { key, etag: 'e', chunks }]]) } };
}

test.each([
  { name: 'all series of a day', selection: selectionOf(4), chunks: [chunkOf(0)], samples: 5760 },
  { name: 'one of four series', selection: selectionOf(1), chunks: [chunkOf(0)], samples: 1440 },
  { name: 'six hours of a day', selection: selectionOf(1, 0, 6 * HOUR), chunks: [chunkOf(0)], samples: 360 },
  { name: 'two chunks', selection: selectionOf(2), chunks: [chunkOf(0), chunkOf(1)], samples: 5760 },
  { name: 'another group', selection: selectionOf(1), chunks: [chunkOf(0, { group: 'h' })], samples: 0 },
  {
    name: 'a layout that is not known yet',
    selection: selectionOf(1),
    chunks: [chunkOf(0, { layout: idOf('x') })],
    samples: 0,
  },
])('the directory tells how many samples are read: $name', ({ selection, chunks, samples }) => {
  expect(estimateSamples(asksOf(chunks), selection, HOUR)).toBe(samples);
});

test('the entry of an earlier object is not used', () => {
  expect(estimateSamples(asksOf([chunkOf(0)], 'earlier'), selectionOf(1), HOUR)).toBe(0);
});

test('grains of rollups count as samples', () => {
  const rollups = [{ days: 30 }, { days: 2 }] as unknown as Parameters<typeof estimateSamples>[0]['rollups'];
  expect(estimateSamples({ ...(rollups && { rollups }) }, selectionOf(2), HOUR)).toBe(32 * 24 * 2);
});

describe('the budget of a query', () => {
  const limits = { series: 10, sources: 10, samples: 100 };

  test('refuses samples before they are read, with their number and the limit', () => {
    const budget = new ReadBudget(limits);
    budget.takeSeries(2, matchers);
    const [first, second] = [new ExpectedSamples(budget, matchers), new ExpectedSamples(budget, matchers)];
    first.expect('home', 60);
    expect(() => second.expect('home', 41)).toThrow(
      '{__name__="a"} selects an estimated 101 samples or more, and at most 100 may be read; narrow it by labels, or shorten the range',
    );
    expect(() => budget.check()).toThrow('an estimated 101 samples');
  });

  test('counts the samples read instead of the estimate, and a repeated read once', () => {
    const budget = new ReadBudget(limits);
    const read = new ExpectedSamples(budget, matchers);
    read.expect('home', 90);
    read.expect('home', 80);
    read.expect('pool', 20);
    read.take(10);
    new ExpectedSamples(budget, matchers).expect('home', 90);
    expect(() => budget.takeSamples(1, matchers)).toThrow('more than 100 samples');
  });
});
