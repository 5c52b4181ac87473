import { lineOf, textOf } from '../../../scripts/bench/harness/report';

test.each([
  {
    name: 'rows are a table, in which a field that is an object has a column for each of its own',
    result: [
      { way: 'ours', cpu: { post: 0.42622, store: 2 } },
      { way: 'paper', cpu: { post: 12345.678 } },
    ],
    lines: ['way    cpu.post  cpu.store', 'ours   0.4262    2', 'paper  12346'],
  },
  {
    name: 'an object has a line for each field, a table for its rows, and one for objects in an object',
    result: {
      series: 3,
      bytes: [1, 2.5],
      rows: [{ a: 1 }],
      ms: { first: { median: 1 }, second: { median: 2 } },
    },
    lines: ['series 3', 'bytes 1 2.5', 'rows:', 'a', '1', 'ms      median', 'first   1', 'second  2'],
  },
])('$name', ({ result, lines }) => {
  expect(textOf(result).split('\n')).toEqual(lines);
});

test('a line of progress leaves out fields that a row lacks', () => {
  expect(lineOf({ query: 'sum', ms: 1.23456, prometheusMs: undefined })).toBe('query sum, ms 1.235');
});
