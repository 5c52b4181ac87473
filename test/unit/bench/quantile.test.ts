import { quantile } from '../../../scripts/bench/quantile';

test.each([
  { name: 'the middle of an odd number', values: [3, 1, 2], q: 0.5, is: 2 },
  { name: 'of an even number the lower of the two', values: [4, 1, 3, 2], q: 0.5, is: 2 },
  { name: 'all of them', values: [1, 5, 3], q: 1, is: 5 },
  { name: 'next to none', values: [7, 5], q: 0.001, is: 5 },
  { name: 'one value', values: [9], q: 0.99, is: 9 },
  { name: 'the 99th of a hundred', values: Array.from({ length: 100 }, (_, i) => 100 - i), q: 0.99, is: 99 },
])('$name', ({ values, q, is }) => {
  expect(quantile(values, q)).toBe(is);
});
