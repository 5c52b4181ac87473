import { firstFrom, type RequestedGrains, type SampleColumns, withoutStale } from '../model/sample-columns';
import { withJoined } from './find-series';
import type { Points } from './rolled-points';
import type { SourceBlock } from './select';

/**
 * Returns the samples of each series of a source. For some days, points from rollups replace the samples.
 *
 * @param grains the grains that the points were made from
 */
export function sampleColumnsOf(
  { block, layout, joined, points }: SourceBlock,
  grains?: RequestedGrains,
): SampleColumns[] {
  const { timestamps, columns } = block;
  const joiner = grains && new PointJoiner(grains);
  return layout.series.map((labels, column) => {
    const { rows, values } = columns[column]!;
    const samples = {
      labels: withJoined(labels, joined),
      timestamps: rows === undefined ? timestamps : Float64Array.from(rows, (row) => timestamps[row]!),
      values,
    };
    const own = points?.[column];
    return own === undefined ? samples : joiner!.join(samples, own);
  });
}

/** The order in time of a series' samples and points: runs of samples alternate with runs of points. */
interface Order {
  readonly samples: Float64Array;
  readonly points: Float64Array;
  readonly timestamps: Float64Array;
  readonly runs: readonly { readonly isOfPoints: boolean; readonly from: number; readonly to: number }[];
  readonly counts: Float64Array | undefined;
}

/**
 * Joins each series' points with its samples from other days, for the series of one source. Series with the same times
 * share `timestamps` and `counts`.
 */
export class PointJoiner {
  private order: Order | undefined;

  constructor(private readonly grains: Pick<RequestedGrains, 'use' | 'edges'>) {}

  /**
   * Joins the samples and points of one series.
   *
   * @param samples may contain stale markers. Stale markers are kept if the read is in steps, or needs the first or
   *   last value of each range; otherwise they are dropped
   */
  join(samples: SampleColumns, points: Points): SampleColumns {
    const { labels } = samples;
    const { use, edges } = this.grains;
    if (points.timestamps.length === 0) return samples;
    const own = points.counts === undefined || edges === 'steps' ? samples : withoutStale(samples);
    if (own.timestamps.length === 0) return { labels, ...points };
    const order = this.orderOf(own.timestamps, points);
    const { timestamps, counts } = order;
    return {
      labels,
      timestamps,
      values: use === 'count' ? counts! : merge(order, own.values, points.values),
      ...(counts && { counts }),
      ...(points.resets && { resets: merge(order, new Float64Array(own.values.length), points.resets) }),
    };
  }

  private orderOf(samples: Float64Array, points: Points): Order {
    const { order } = this;
    if (order?.samples === samples && order.points === points.timestamps) return order;
    const runs = runsOf(samples, points.timestamps);
    const plain = { samples, points: points.timestamps, timestamps: samples, runs, counts: undefined };
    const ones = points.counts && new Float64Array(samples.length).fill(1);
    this.order = {
      ...plain,
      timestamps: merge(plain, samples, points.timestamps),
      counts: ones && merge(plain, ones, points.counts!),
    };
    return this.order;
  }
}

/**
 * Divides two lists of times into alternating runs of samples and points.
 *
 * @throws if a time is in both lists, since the same sample would then count twice
 */
function runsOf(samples: Float64Array, points: Float64Array): Order['runs'] {
  const runs: Order['runs'][number][] = [];
  let [i, j] = [0, 0];
  while (i < samples.length || j < points.length) {
    if (points[j] === samples[i]) throw new Error(`a sample and a point have the same time, ${samples[i]}`);
    const isOfPoints = i === samples.length || points[j]! < samples[i]!;
    if (isOfPoints) {
      const to = firstFrom(points, samples[i] ?? Infinity);
      runs.push({ isOfPoints, from: j, to });
      j = to;
    } else {
      const to = firstFrom(samples, points[j] ?? Infinity);
      runs.push({ isOfPoints, from: i, to });
      i = to;
    }
  }
  return runs;
}

/** Merges two columns. Copies runs of values as bytes, so that stale markers keep their bits. */
function merge({ runs }: Pick<Order, 'runs'>, samples: Float64Array, points: Float64Array): Float64Array {
  const merged = new Float64Array(samples.length + points.length);
  let at = 0;
  for (const { isOfPoints, from, to } of runs) {
    merged.set((isOfPoints ? points : samples).subarray(from, to), at);
    at += to - from;
  }
  return merged;
}
