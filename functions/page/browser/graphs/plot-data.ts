/**
 * Series with common times. `times` has Unix times in seconds. `values` has a row for each series, with its
 * value at each time, or null.
 */
export interface SeriesData {
  readonly times: readonly number[];
  readonly values: readonly (readonly (number | null)[])[];
}

/**
 * A line's value at a time. A number is a sample. Null interrupts the line. Undefined means that only other
 * series have a sample at this time; the line continues.
 */
export type Drawn = number | null | undefined;

export interface PlotData {
  readonly times: readonly number[];
  readonly values: readonly (readonly Drawn[])[];
}

/**
 * A line is interrupted where the time between two samples exceeds this many of its usual intervals. An agent that
 * posts late is usually late by less than that.
 */
const GAP_INTERVALS = 2.5;

/** Joins the series of several responses into one table, in order. */
export function joinedData(parts: readonly SeriesData[]): SeriesData {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return first;
  const times = [...new Set(parts.flatMap((part) => part.times))].sort((a, b) => a - b);
  const rowOf = new Map(times.map((time, row) => [time, row]));
  const values = parts.flatMap((part) => {
    const rows = part.times.map((time) => rowOf.get(time)!);
    return part.values.map((from) => {
      const row: (number | null)[] = new Array(times.length).fill(null);
      for (const [i, at] of rows.entries()) row[at] = from[i]!;
      return row;
    });
  });
  return { times, values };
}

const COMBINE = {
  average: (present: readonly number[]) => sum(present) / present.length,
  min: (present: readonly number[]) => Math.min(...present),
  max: (present: readonly number[]) => Math.max(...present),
  sum,
};

/** Combines all series into one. At each time, only the series that have a sample at that time are combined. */
export function combinedData({ times, values }: SeriesData, by: keyof typeof COMBINE): SeriesData {
  const row = times.map((_, at) => {
    const present = values.flatMap((each) => each[at] ?? []);
    return present.length === 0 ? null : COMBINE[by](present);
  });
  return { times, values: [row] };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/**
 * Rounds times down to multiples of a step, and keeps the last sample of each series in a step. Hosts post at
 * different seconds of a minute, and values can only be added at common times.
 */
export function alignedData({ times, values }: SeriesData, stepS: number): SeriesData {
  const steps = times.map((time) => Math.floor(time / stepS) * stepS);
  const all = [...new Set(steps)];
  const rowOf = new Map(all.map((time, row) => [time, row]));
  return {
    times: all,
    values: values.map((from) => {
      const row: (number | null)[] = new Array(all.length).fill(null);
      for (const [i, step] of steps.entries()) row[rowOf.get(step)!] = from[i] ?? row[rowOf.get(step)!]!;
      return row;
    }),
  };
}

/** Minimum result of {@link reachOf}, in seconds. It applies if samples are closer together than that. */
const NEAR_S = 60;

/** Returns how many seconds a sample may be away from a time and still represent that time. */
export function reachOf(times: readonly number[]): number {
  return Math.max(NEAR_S, median(times.slice(1).map((time, i) => time - times[i]!)));
}

/** Returns the index of the time nearest to `timeS`; undefined if that time is more than `reachS` away. */
export function nearestIndex(times: readonly number[], timeS: number, reachS: number): number | undefined {
  if (times.length === 0) return undefined;
  let [low, high] = [0, times.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! < timeS) low = middle + 1;
    else high = middle;
  }
  const nearest = low > 0 && timeS - times[low - 1]! <= times[low]! - timeS ? low - 1 : low;
  return Math.abs(times[nearest]! - timeS) <= reachS ? nearest : undefined;
}

/** Returns the index of the last time at which any series has a sample. */
export function lastIndex({ times, values }: SeriesData): number | undefined {
  const last = times.findLastIndex((_, at) => values.some((row) => row[at] !== null));
  return last < 0 ? undefined : last;
}

/** Marks the gaps of each line. If the table has no time within a gap, adds one. */
export function withGaps({ times, values }: SeriesData): PlotData {
  const extra = new Set<number>();
  const gapsOf = values.map((row) => {
    const present = row.flatMap((value, i) => (value === null ? [] : [i]));
    const intervals = present.slice(1).map((at, i) => times[at]! - times[present[i]!]!);
    const usual = median(intervals);
    const breaks: number[] = [];
    for (const [i, interval] of intervals.entries()) {
      if (interval <= usual * GAP_INTERVALS) continue;
      const [before, after] = [present[i]!, present[i + 1]!];
      const within = times.slice(before + 1, after);
      if (within.length === 0) {
        within.push(times[before]! + usual);
        extra.add(times[before]! + usual);
      }
      // uPlot interrupts a line only where it finds null, so each row in the gap gets one.
      breaks.push(...within);
    }
    return new Set(breaks);
  });
  const all = extra.size === 0 ? times : [...times, ...extra].sort((a, b) => a - b);
  const rowOf = extra.size === 0 ? undefined : new Map(times.map((time, row) => [time, row]));
  return {
    times: all,
    values: values.map((row, series) =>
      all.map((time, i) => {
        const at = rowOf === undefined ? i : rowOf.get(time);
        const value = at === undefined ? null : row[at]!;
        return value ?? (gapsOf[series]!.has(time) ? null : undefined);
      }),
    ),
  };
}

function median(numbers: readonly number[]): number {
  if (numbers.length === 0) return 0;
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

/**
 * Stacks the chosen series in order, each on top of the previous one; other series stay unchanged. Where only some of
 * the chosen series have a sample, the missing ones count as zero; where none has one, there is a gap.
 */
export function stackedData({ times, values }: PlotData, isChosen: readonly boolean[]): PlotData {
  const rows = values.map((row) => [...row]);
  const chosen = rows.map((_, i) => i).filter((i) => isChosen[i]);
  for (let at = 0; at < times.length; at++) {
    const present = chosen.filter((i) => typeof values[i]![at] === 'number');
    if (present.length === 0) continue;
    let total = 0;
    for (const i of chosen) {
      total += values[i]![at] ?? 0;
      rows[i]![at] = total;
    }
  }
  return { times, values: rows };
}

/**
 * Returns the minimum and maximum of the chosen series within a time range; NaN if they have no samples
 * there.
 */
export function extremesOf(
  { times, values }: PlotData,
  isChosen: readonly boolean[],
  { fromS, toS }: { readonly fromS: number; readonly toS: number },
): { readonly min: number; readonly max: number } {
  let [min, max] = [Number.NaN, Number.NaN];
  for (const [i, row] of values.entries()) {
    if (!isChosen[i]) continue;
    for (const [at, value] of row.entries()) {
      if (typeof value !== 'number' || times[at]! < fromS || times[at]! > toS) continue;
      if (!(value >= min)) min = value;
      if (!(value <= max)) max = value;
    }
  }
  return { min, max };
}

/** Returns the indexes of samples without neighbors, which a line alone would not show. */
export function lonelySamples(row: ArrayLike<Drawn>): number[] {
  const lonely: number[] = [];
  let before: Drawn = null;
  let candidate = -1;
  for (let i = 0; i < row.length; i++) {
    const value = row[i];
    if (value === undefined) continue;
    if (candidate >= 0 && value === null) lonely.push(candidate);
    candidate = value !== null && before === null ? i : -1;
    before = value;
  }
  if (candidate >= 0) lonely.push(candidate);
  return lonely;
}
