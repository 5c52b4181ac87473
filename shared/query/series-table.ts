import { type Labels, labelsKey } from '../model/labels';
import type { LayoutBlock } from '../model/layout-block';
import { type Aggregate, downsample, type Samples } from './downsample';

/** Series side by side: for each time at which any of them has a value, a value or null of each. */
export interface SeriesTable {
  /** ms since epoch, ascending. */
  readonly times: readonly number[];
  /** One row of values for each series, as long as `times`. */
  readonly values: readonly (readonly (number | null)[])[];
}

/**
 * Puts series side by side, the form in which charts take them.
 *
 * @param stepMs one value for each step of this length; undefined for samples as stored
 */
export function seriesTable(
  samples: readonly Samples[],
  stepMs: number | undefined,
  aggregate?: Aggregate,
): SeriesTable {
  const series = samples.map((each) => (stepMs === undefined ? each : downsample(each, stepMs, aggregate)));
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

const NO_SAMPLES: Samples = { timestamps: [], values: [] };

/** The samples of one series; none when no block has it. */
export function samplesOf(blocks: readonly LayoutBlock[], series: Labels): Samples {
  const key = labelsKey(series);
  for (const { block, layout } of blocks) {
    const column = layout.columns.get(key);
    if (column === undefined) continue;
    const { rows, values } = block.columns[column]!;
    const { timestamps } = block;
    return {
      timestamps: rows === undefined ? timestamps : Float64Array.from(rows, (row) => timestamps[row]!),
      values,
    };
  }
  return NO_SAMPLES;
}
