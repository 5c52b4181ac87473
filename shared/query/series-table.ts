import type { Block } from '../codec';
import { type Aggregate, downsample, type Samples } from './downsample';

/** Series side by side: for each time at which any of them has a value, a value or null of each. */
export interface SeriesTable {
  /** ms since epoch, ascending. */
  readonly times: readonly number[];
  /** One row of values for each series, as long as `times`. */
  readonly values: readonly (readonly (number | null)[])[];
}

/**
 * A block as a table, the form in which charts take several series.
 *
 * @param stepMs points of this length; undefined for samples as stored
 */
export function seriesTable(block: Block, stepMs: number | undefined, aggregate?: Aggregate): SeriesTable {
  const series = block.columns.map((_, i) => {
    const samples = samplesOf(block, i);
    return stepMs === undefined ? samples : downsample(samples, stepMs, aggregate);
  });
  const times = [...new Set(series.flatMap(({ timestamps }) => Array.from(timestamps)))].sort(
    (a, b) => a - b,
  );
  const rowOf = new Map(times.map((time, row) => [time, row]));
  return {
    times,
    values: series.map(({ timestamps, values }) => {
      const row: (number | null)[] = new Array(times.length).fill(null);
      for (let i = 0; i < timestamps.length; i++) row[rowOf.get(timestamps[i]!)!] = values[i]!;
      return row;
    }),
  };
}

/** The samples of one column of a block. */
export function samplesOf(block: Block, column: number): Samples {
  const { rows, values } = block.columns[column]!;
  return {
    timestamps:
      rows === undefined ? block.timestamps : Float64Array.from(rows, (row) => block.timestamps[row]!),
    values,
  };
}
