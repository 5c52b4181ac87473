/** Start and end, in any unit. */
export type Interval = readonly [start: number, end: number];

/** Total time that at least one of the intervals covers. */
export function unionMs(intervals: readonly Interval[]): number {
  let covered = 0;
  let until = -Infinity;
  for (const [start, end] of [...intervals].sort(([a], [b]) => a - b)) {
    covered += Math.max(0, end - Math.max(start, until));
    until = Math.max(until, end);
  }
  return covered;
}
