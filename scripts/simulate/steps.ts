import type { Aggregate } from '../../shared/model/aggregates';

/** A sample as the API returns it. `time` is in seconds. */
export interface Point {
  readonly time: number;
  readonly value: number;
}

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

const OF: Readonly<Record<Aggregate, (values: readonly number[]) => number>> = {
  avg: (values) => sumOf(values) / values.length,
  sum: sumOf,
  count: (values) => values.length,
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  first: (values) => values[0]!,
  last: (values) => values.at(-1)!,
};

/**
 * Aggregates samples into steps, independently of the code under test. The simulation's values are multiples of 1/128,
 * so their sums are exact in any order.
 *
 * @param points in ascending order of time
 */
export function stepsOf(points: readonly Point[], stepS: number, aggregate: Aggregate): Point[] {
  const steps = Map.groupBy(points, ({ time }) => Math.floor(time / stepS) * stepS);
  return [...steps].map(([time, own]) => ({ time, value: OF[aggregate](own.map(({ value }) => value)) }));
}

/** Describes the first difference; undefined if there is none. */
export function differenceOf(found: readonly Point[], expected: readonly Point[]): string | undefined {
  const text = (point: Point | undefined) =>
    point === undefined ? 'nothing' : `${point.value} at ${point.time}`;
  for (let i = 0; i < Math.max(found.length, expected.length); i++)
    if (found[i]?.time !== expected[i]?.time || found[i]?.value !== expected[i]?.value)
      return `${text(found[i])} instead of ${text(expected[i])}`;
  return undefined;
}
