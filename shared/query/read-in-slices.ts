import type { TimeRange } from '../model/selection';
import { DEFAULT_LIMITS, SelectLimitError } from './find-series';
import { halveSteps } from './plan';

/**
 * Maximum number of samples that a read of several steps holds at a time. The samples and their copies take about 200
 * MB.
 */
const MAX_HELD_SAMPLES = 5_000_000;
/**
 * Maximum number of reads in one call. The reads run one after another, and a request must be answered within half a
 * minute.
 */
const MAX_READS = 200;

/**
 * Reads a range of steps. A read that fails because it has too many samples for one slice is replaced by two reads,
 * each of one half of its range. The archive's directory tells a read in advance how many archived samples it would
 * get, so it fails before it fetches any. The samples of the warm table are counted only after they have been read.
 *
 * @param read must throw {@link SelectLimitError} for more than `mostSamples`
 * @param stepMs undefined for samples as stored, which are read in one slice
 * @returns the results in order of time
 * @throws {SelectLimitError} when a single step has more samples than {@link DEFAULT_LIMITS}, or the range takes more
 *   than {@link MAX_READS}
 */
export async function readInSlices<Part>(
  read: (slice: TimeRange, mostSamples: number) => Promise<Part>,
  range: TimeRange,
  stepMs: number | undefined,
): Promise<Part[]> {
  const left = [range];
  const parts: Part[] = [];
  let reads = 0;
  for (let slice = left.shift(); slice !== undefined; slice = left.shift()) {
    const halves = stepMs === undefined ? undefined : halveSteps(slice, stepMs);
    reads++;
    try {
      parts.push(await read(slice, halves === undefined ? DEFAULT_LIMITS.samples : MAX_HELD_SAMPLES));
    } catch (error) {
      const isTooLarge = error instanceof SelectLimitError && error.limit === 'samples';
      if (!isTooLarge || halves === undefined || reads + left.length >= MAX_READS) throw error;
      left.unshift(...halves);
    }
  }
  return parts;
}
