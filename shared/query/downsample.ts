/** A series' samples, ascending. */
export interface Samples {
  readonly timestamps: ArrayLike<number>;
  readonly values: ArrayLike<number>;
}

/**
 * Arithmetic means of the samples present in each aligned step; steps without any are left out.
 *
 * @returns samples at the starts of their steps
 */
export function downsample({ timestamps, values }: Samples, stepMs: number): Samples {
  const starts: number[] = [];
  const means: number[] = [];
  let sum = 0;
  let count = 0;
  const close = (start: number) => {
    starts.push(start);
    means.push(sum / count);
    sum = 0;
    count = 0;
  };
  let current: number | undefined;
  for (let i = 0; i < timestamps.length; i++) {
    const start = Math.floor(timestamps[i]! / stepMs) * stepMs;
    if (current !== undefined && start !== current) close(current);
    current = start;
    sum += values[i]!;
    count++;
  }
  if (current !== undefined) close(current);
  return { timestamps: starts, values: means };
}
