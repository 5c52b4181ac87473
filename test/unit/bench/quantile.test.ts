import { quantile } from '../../../scripts/bench/harness/quantile';

test.each([
  { name: 'the median of an odd number of values', values: [3, 1, 2], q: 0.5, is: 2 },
  { name: 'of an even number of values, the lower of the middle two', values: [4, 1, 3, 2], q: 0.5, is: 2 },
  { name: 'the largest', values: [1, 5, 3], q: 1, is: 5 },
  { name: 'the smallest', values: [7, 5], q: 0.001, is: 5 },
  { name: 'one value', values: [9], q: 0.99, is: 9 },
  { name: 'the 99th of a hundred', values: Array.from({ length: 100 }, (_, i) => 100 - i), q: 0.99, is: 99 },
])('$name', ({ values, q, is }) => {
  expect(quantile(values, q)).toBe(is);
});
