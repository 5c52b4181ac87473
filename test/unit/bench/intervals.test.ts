import { coveredMs } from '../../../scripts/bench/harness/intervals';

test.each([
  { name: 'none', intervals: [], is: 0 },
  {
    name: 'apart',
    intervals: [
      [5, 7],
      [0, 2],
    ] as const,
    is: 4,
  },
  {
    name: 'overlapping',
    intervals: [
      [0, 4],
      [3, 6],
    ] as const,
    is: 6,
  },
  {
    name: 'one within another',
    intervals: [
      [0, 10],
      [2, 3],
      [9, 11],
    ] as const,
    is: 11,
  },
  {
    name: 'one after the other',
    intervals: [
      [0, 1],
      [1, 2],
    ] as const,
    is: 2,
  },
])('$name', ({ intervals, is }) => {
  expect(coveredMs(intervals)).toBe(is);
});
