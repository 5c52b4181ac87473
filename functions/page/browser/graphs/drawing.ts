import type { OverHosts } from '../view/view-state';
import type { Graph } from './graphs';
import { alignedData, combinedData, extremesOf, joinedData, type SeriesData } from './plot-data';

/** One line or area as it is drawn. */
export interface DrawnLine {
  readonly id: string;
  readonly label: string;
  readonly isStacked: boolean;
  /** Index of its colour. */
  readonly color: number;
  /** Whether the line shows the earlier samples with which the graph is compared. */
  readonly isEarlier: boolean;
}

/** The lines of a graph, with a row of values for each. */
export interface Drawing {
  readonly lines: readonly DrawnLine[];
  readonly data: SeriesData;
}

/** Maximum number of lines in a graph; more would be unreadable. */
export const MAX_GRAPH_LINES = 60;

/** Common time step for combining hosts, in seconds. Hosts post once a minute, at different seconds. */
const COMMON_STEP_S = 60;

/**
 * Combines a graph with the samples that were read for it.
 *
 * @param graph its lines must be the series that were read, in the same order
 * @param earlier the samples of the same series from `earlierS` seconds before `reading`; they are moved to
 * the times of `reading`
 * @param over how to combine the lines of several hosts into one
 */
export function drawingOf(
  graph: Graph,
  reading: SeriesData,
  earlier: SeriesData | undefined,
  earlierS: number,
  over: OverHosts,
): Drawing {
  const shaped = (data: SeriesData): SeriesData =>
    over === 'each' ? data : combinedData(alignedData(data, COMMON_STEP_S), over);
  const lines =
    over === 'each'
      ? graph.lines.map(({ id, label, isStacked }, color) => ({
          id,
          label,
          isStacked,
          color,
          isEarlier: false,
        }))
      : [
          {
            id: over,
            label: overText(over, graph.lines.length),
            isStacked: false,
            color: 0,
            isEarlier: false,
          },
        ];
  if (earlier === undefined) return { lines, data: shaped(reading) };
  const moved = { times: earlier.times.map((time) => time + earlierS), values: earlier.values };
  return {
    lines: [...lines, ...lines.map((line) => ({ ...line, isEarlier: true }))],
    data: joinedData([shaped(reading), shaped(moved)]),
  };
}

function overText(over: Exclude<OverHosts, 'each'>, hosts: number): string {
  const name = { average: 'average', min: 'minimum', max: 'maximum', sum: 'sum' }[over];
  return `${name} of ${hosts} ${hosts === 1 ? 'host' : 'hosts'}`;
}

/** Returns the value of a line at a time, or else its last value that is less than {@link COMMON_STEP_S} older. */
export function valueAt(data: SeriesData, line: number, index: number | undefined): number | undefined {
  const row = data.values[line] ?? [];
  if (index === undefined) return undefined;
  for (let at = index; at >= 0 && data.times[index]! - data.times[at]! < COMMON_STEP_S; at--) {
    const value = row[at];
    if (value !== null && value !== undefined) return value;
  }
  return undefined;
}

/** Returns the difference between the largest and the smallest value; 0 if there are no values. */
export function spreadOf(data: SeriesData): number {
  const all = { fromS: Number.NEGATIVE_INFINITY, toS: Number.POSITIVE_INFINITY };
  const { min, max } = extremesOf(
    data,
    data.values.map(() => true),
    all,
  );
  return max - min || 0;
}
