import {
  graphOf,
  resolutionFor,
  rowsOf,
  seriesText,
  shortTexts,
} from '../../../functions/page/browser/api/promql-results';
import { findMetrics } from '../../../functions/page/browser/explore/metric-search';
import { withQuery } from '../../../functions/page/browser/explore/query-list';

test('a search of metrics finds words in names first, then in help texts', () => {
  const metrics = [
    { name: 'up', series: 3, help: 'Whether requests succeed.' },
    { name: 'http_requests_total', series: 5 },
    { name: 'load', series: undefined },
  ];
  expect(findMetrics(metrics, 'REQUESTS').map(({ name }) => name)).toEqual(['http_requests_total', 'up']);
  expect(findMetrics(metrics, 'requests http').map(({ name }) => name)).toEqual(['http_requests_total']);
  expect(findMetrics(metrics, '')).toBe(metrics);
});

test('the history has each query once, the latest first, and at most 50', () => {
  expect(withQuery(['a', 'b', 'c'], 'b')).toEqual(['b', 'a', 'c']);
  expect(withQuery(['a'], '')).toEqual(['a']);
  expect(withQuery(['a'], 'x'.repeat(4001))).toEqual(['a']);
  const many = Array.from({ length: 50 }, (_, i) => `q${i}`);
  expect(withQuery(many, 'new')).toEqual(['new', ...many.slice(0, 49)]);
});

test.each([
  { hours: 0.5, stepS: 5 },
  { hours: 1, stepS: 10 },
  { hours: 24, stepS: 300 },
  { hours: 24 * 30, stepS: 7200 },
  { hours: 24 * 460, stepS: 86_400 },
])('a span of $hours h has a value each $stepS s', ({ hours, stepS }) => {
  expect(resolutionFor({ fromS: 0, toS: hours * 3600 })).toBe(stepS);
});

test('a matrix lies on its steps; a step without a value, or with one that cannot be drawn, is null', () => {
  const result = {
    resultType: 'matrix',
    result: [
      {
        metric: { __name__: 'a' },
        values: [
          [10, '1'],
          [30, '-2.5e3'],
        ],
      },
      {
        metric: { __name__: 'b' },
        values: [
          [10, 'NaN'],
          [20, '+Inf'],
          [30, '0'],
        ],
      },
    ],
  } as const;
  expect(graphOf(result, 10, 30, 10)).toEqual({
    series: [{ __name__: 'a' }, { __name__: 'b' }],
    data: {
      times: [10, 20, 30],
      values: [
        [1, null, -2500],
        [null, null, 0],
      ],
    },
  });
});

test('a table has the greatest values first, as they were written', () => {
  const row = (name: string, value: string) => ({ metric: { __name__: name }, value: [10, value] as const });
  expect(
    rowsOf({ resultType: 'vector', result: [row('a', '1'), row('b', '1e300'), row('c', '-0')] }),
  ).toEqual([
    { labels: { __name__: 'b' }, value: '1e300' },
    { labels: { __name__: 'a' }, value: '1' },
    { labels: { __name__: 'c' }, value: '-0' },
  ]);
  expect(rowsOf({ resultType: 'scalar', result: [10, '7'] })).toEqual([{ labels: {}, value: '7' }]);
});

test.each([
  [{ __name__: 'up' }, 'up'],
  [{ __name__: 'up', job: 'a"b\\', env: 'x' }, 'up{job="a\\"b\\\\", env="x"}'],
  [{ job: 'api' }, '{job="api"}'],
  [{}, '{}'],
])('%j is written %s', (labels, text) => {
  expect(seriesText(labels)).toBe(text);
});

test('a legend names series by the labels that tell them apart', () => {
  expect(shortTexts([{ __name__: 'cpu', host: 'a', mode: 'idle' }])).toEqual(['cpu{host="a", mode="idle"}']);
  expect(
    shortTexts([
      { __name__: 'cpu', host: 'a', mode: 'idle' },
      { __name__: 'cpu', host: 'a', mode: 'user' },
      { __name__: 'cpu', host: 'a' },
    ]),
  ).toEqual(['{mode="idle"}', '{mode="user"}', 'cpu{host="a"}']);
});
