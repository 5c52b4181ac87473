import { differenceOf, stepsOf } from '../../../scripts/simulate/steps';

const points = [
  { time: 3_599, value: 1.5 },
  { time: 3_600, value: 4 },
  { time: 7_100, value: 2 },
  { time: 90_000, value: -1 },
];

describe("aggregates of the simulator's own", () => {
  test.each([
    { aggregate: 'sum', values: [1.5, 6, -1] },
    { aggregate: 'avg', values: [1.5, 3, -1] },
    { aggregate: 'count', values: [1, 2, 1] },
    { aggregate: 'min', values: [1.5, 2, -1] },
    { aggregate: 'max', values: [1.5, 4, -1] },
    { aggregate: 'first', values: [1.5, 4, -1] },
    { aggregate: 'last', values: [1.5, 2, -1] },
  ] as const)('by the hour: $aggregate', ({ aggregate, values }) => {
    const times = [0, 3_600, 90_000];
    expect(stepsOf(points, 3_600, aggregate)).toEqual(times.map((time, i) => ({ time, value: values[i] })));
  });

  test('report the first difference, also an additional or a missing sample', () => {
    expect(differenceOf(points, points)).toBeUndefined();
    expect(differenceOf(points, points.slice(0, 3))).toBe('-1 at 90000 instead of nothing');
    expect(differenceOf(points.slice(1), points)).toBe('4 at 3600 instead of 1.5 at 3599');
  });
});
