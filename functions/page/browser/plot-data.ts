/** An answer of several series: for each time, seconds since epoch, a value or null of each. */
export interface SeriesData {
  readonly times: readonly number[];
  readonly values: readonly (readonly (number | null)[])[];
}

/**
 * What is drawn at a time: null breaks the line, undefined is nothing, since another series has the time; the line goes on.
 */
export type Drawn = number | null | undefined;

export interface PlotData {
  readonly times: readonly number[];
  readonly values: readonly (readonly Drawn[])[];
}

/** A gap is where this many usual intervals passed without a sample: agents are late now and then, by less. */
const GAP_INTERVALS = 2.5;

/**
 * Marks gaps, so that they are shown as gaps: the line of a series breaks where it was silent for longer than its own usual
 * interval explains.
 */
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
      const at = after - before > 1 ? times[before + 1]! : times[before]! + usual;
      breaks.push(at);
      if (after - before === 1) extra.add(at);
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
 * Series on top of each other, in their order; others stay as they are. Where none of those that are shown has a value
 * there is a gap; a single one that has none counts as nothing.
 */
export function stackedData(
  { times, values }: PlotData,
  isStacked: readonly boolean[],
  isShown: readonly boolean[],
): PlotData {
  const rows = values.map((row) => [...row]);
  const chosen = rows.map((_, i) => i).filter((i) => isStacked[i] && isShown[i]);
  for (let at = 0; at < times.length; at++) {
    const present = chosen.filter((i) => typeof values[i]![at] === 'number');
    if (present.length === 0) continue;
    let sum = 0;
    for (const i of chosen) {
      sum += values[i]![at] ?? 0;
      rows[i]![at] = sum;
    }
  }
  return { times, values: rows };
}

/** Indexes of samples with nothing beside them, which a line alone would not show. */
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
