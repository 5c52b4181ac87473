import { type Aggregate, downsample, type Samples } from '../model/aggregates';
import { SharedTimes } from '../model/shared-times';
import { SelectLimitError } from './find-series';

/**
 * Maximum number of stored samples in a response, and of values in a table. It limits the memory that a response takes
 * before it is converted to text. http/http.ts limits the size of the text.
 */
export const MAX_RESPONSE_SAMPLES = 2_000_000;

/**
 * A table of series. It has a row for each time at which any series has a value, and each row has a value for every
 * series.
 */
export interface SeriesTable {
  /** Unix time in ms, ascending. */
  readonly times: ArrayLike<number>;
  /** For each series, one value for each of `times`; NaN where the series has none. */
  readonly values: readonly ArrayLike<number>[];
}

/**
 * Builds a table of series for a chart.
 *
 * @param stepMs length of the steps, with one value each; undefined if samples are read as stored
 * @throws {SelectLimitError} when the table would have more than {@link MAX_RESPONSE_SAMPLES} values: series
 *   whose times differ make a table that is many times larger than their samples
 */
export function seriesTable(
  samples: readonly Samples[],
  stepMs: number | undefined,
  aggregate?: Aggregate,
): SeriesTable {
  const shared = new SharedTimes();
  const series = samples.map((each) =>
    stepMs === undefined ? each : downsample(each, stepMs, aggregate, shared),
  );
  const times = mergeTimes(series.map(({ timestamps }) => timestamps));
  const size = times.length * series.length;
  if (size > MAX_RESPONSE_SAMPLES)
    throw new SelectLimitError(
      'samples',
      `name: ${series.length} metrics have samples at ${times.length} different times, a table of ${size} values; at most ${MAX_RESPONSE_SAMPLES} are allowed: set step, or ask for fewer names or a shorter range`,
    );
  return {
    times,
    values: series.map(({ timestamps, values }) => {
      if (timestamps.length === times.length) return values;
      const row = new Float64Array(times.length).fill(Number.NaN);
      for (let i = 0, at = 0; i < timestamps.length; i++) {
        while (times[at] !== timestamps[i]) at++;
        row[at] = values[i]!;
      }
      return row;
    }),
  };
}

/** Joins one or more tables of the same series. Each table must begin after the previous one ends. */
export function joinTables(tables: readonly SeriesTable[]): SeriesTable {
  const [first] = tables as [SeriesTable];
  if (tables.length === 1) return first;
  const join = (parts: readonly ArrayLike<number>[]) => parts.flatMap((part) => Array.from(part));
  return {
    times: join(tables.map(({ times }) => times)),
    values: first.values.map((_, i) => join(tables.map(({ values }) => values[i]!))),
  };
}

/** Merges ascending lists of times. Most series have the same times, so duplicate lists are removed first. */
function mergeTimes(lists: readonly ArrayLike<number>[]): ArrayLike<number> {
  const distinct: ArrayLike<number>[] = [];
  for (const list of lists) if (!distinct.some((other) => isEqual(list, other))) distinct.push(list);
  if (distinct.length <= 1) return distinct[0] ?? [];
  return Float64Array.from(new Set(distinct.flatMap((list) => Array.from(list)))).sort();
}

function isEqual(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
