/** Start and end of an interval, in any unit. */
export type Interval = readonly [start: number, end: number];

/** Returns the total time covered by at least one interval. */
export function coveredMs(intervals: readonly Interval[]): number {
  let covered = 0;
  let until = -Infinity;
  for (const [start, end] of [...intervals].sort(([a], [b]) => a - b)) {
    covered += Math.max(0, end - Math.max(start, until));
    until = Math.max(until, end);
  }
  return covered;
}

/** Returns the length of the longest chain in which each interval starts after the previous one has ended. */
export function inTurn(intervals: readonly Interval[]): number {
  let count = 0;
  let until = -Infinity;
  for (const [start, end] of [...intervals].sort(([, a], [, b]) => a - b)) {
    if (start < until) continue;
    count++;
    until = end;
  }
  return count;
}
