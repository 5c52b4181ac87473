/** A series' samples, ascending. */
export interface Samples {
  readonly timestamps: ArrayLike<number>;
  readonly values: ArrayLike<number>;
}

const SCALE = 2 ** -64;

/**
 * Arithmetic means of the samples present in each aligned step; steps without any are left out.
 *
 * @returns samples at the starts of their steps
 */
export function downsample({ timestamps, values }: Samples, stepMs: number): Samples {
  const starts: number[] = [];
  const means: number[] = [];
  let sum = 0;
  // Scaled down by a power of two, which loses nothing but denormals: the sum of huge values overflows, their mean does not.
  let scaledSum = 0;
  let count = 0;
  const close = (start: number) => {
    starts.push(start);
    means.push(Number.isFinite(sum) ? sum / count : scaledSum / count / SCALE);
    sum = 0;
    scaledSum = 0;
    count = 0;
  };
  let current: number | undefined;
  for (let i = 0; i < timestamps.length; i++) {
    const start = Math.floor(timestamps[i]! / stepMs) * stepMs;
    if (current !== undefined && start !== current) close(current);
    current = start;
    sum += values[i]!;
    scaledSum += values[i]! * SCALE;
    count++;
  }
  if (current !== undefined) close(current);
  return { timestamps: starts, values: means };
}
