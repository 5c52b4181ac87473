import type { TimeRange } from '../model/selection';
import { TooManyHeldError } from './beyond-hot';
import { SelectLimitError } from './find-series';
import { halveSteps, MAX_HELD_SAMPLES, sliceSteps } from './plan';

/**
 * Reads a range of steps at once if, thanks to rollups, few samples must be held. Otherwise reads it in consecutive
 * slices. Halves a slice that has more samples than the read may hold.
 *
 * @param read returns undefined when none of the series exists
 * @param stepMs undefined for samples as stored, which are read at once
 * @param series number of the wanted series
 * @returns the results in order of time; undefined when none of the series exists
 * @throws {SelectLimitError} when a single step has too many samples
 */
export async function readInSlices<Part>(
  read: (slice: TimeRange, maxSamples?: number) => Promise<Part | undefined>,
  range: TimeRange,
  stepMs: number | undefined,
  series: number,
): Promise<Part[] | undefined> {
  const left = stepMs === undefined ? [range] : sliceSteps(range, stepMs, series);
  if (left.length > 1)
    try {
      const whole = await read(range, MAX_HELD_SAMPLES);
      return whole && [whole];
    } catch (error) {
      if (!(error instanceof TooManyHeldError)) throw error;
    }
  const parts: Part[] = [];
  for (let slice = left.shift(); slice !== undefined; slice = left.shift())
    try {
      const part = await read(slice);
      if (part === undefined) return undefined;
      parts.push(part);
    } catch (error) {
      const isTooLarge = error instanceof SelectLimitError && error.limit === 'samples';
      const halves = isTooLarge && stepMs !== undefined ? halveSteps(slice, stepMs) : undefined;
      if (halves === undefined) throw error;
      left.unshift(...halves);
    }
  return parts;
}
