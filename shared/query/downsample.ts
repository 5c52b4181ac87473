/** A series' samples, ascending. */
export interface Samples {
  readonly timestamps: ArrayLike<number>;
  readonly values: ArrayLike<number>;
}

export const AGGREGATES = ['avg', 'min', 'max', 'sum', 'count', 'first', 'last'] as const;
/** How the samples of a step become one value. */
export type Aggregate = (typeof AGGREGATES)[number];

const SCALE = 2 ** -64;

/**
 * Aggregates the samples of each aligned step; leaves out steps that have none.
 *
 * @returns samples at the starts of their steps
 */
export function downsample(
  { timestamps, values }: Samples,
  stepMs: number,
  aggregate: Aggregate = 'avg',
): Samples {
  const starts: number[] = [];
  const shown: number[] = [];
  for (let first = 0; first < timestamps.length; ) {
    const start = Math.floor(timestamps[first]! / stepMs) * stepMs;
    let end = first + 1;
    while (end < timestamps.length && timestamps[end]! < start + stepMs) end++;
    starts.push(start);
    shown.push(AGGREGATORS[aggregate](values, first, end));
    first = end;
  }
  return { timestamps: starts, values: shown };
}

/** Each aggregates `values` from `first` to before `end`, at least one. */
const AGGREGATORS: Readonly<
  Record<Aggregate, (values: ArrayLike<number>, first: number, end: number) => number>
> = {
  avg: meanOf,
  sum: (values, first, end) => {
    let sum = 0;
    for (let i = first; i < end; i++) sum += values[i]!;
    // JSON has no infinity.
    return Math.max(-Number.MAX_VALUE, Math.min(sum, Number.MAX_VALUE));
  },
  min: (values, first, end) => {
    let min = values[first]!;
    for (let i = first + 1; i < end; i++) min = Math.min(min, values[i]!);
    return min;
  },
  max: (values, first, end) => {
    let max = values[first]!;
    for (let i = first + 1; i < end; i++) max = Math.max(max, values[i]!);
    return max;
  },
  count: (_, first, end) => end - first,
  first: (values, first) => values[first]!,
  last: (values, _, end) => values[end - 1]!,
};

function meanOf(values: ArrayLike<number>, first: number, end: number): number {
  let sum = 0;
  // Scaled down by a power of two, which loses nothing but denormals: the sum of huge values overflows, their mean does not.
  let scaledSum = 0;
  for (let i = first; i < end; i++) {
    sum += values[i]!;
    scaledSum += values[i]! * SCALE;
  }
  const count = end - first;
  return Number.isFinite(sum) ? sum / count : scaledSum / count / SCALE;
}
