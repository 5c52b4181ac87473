import type { TimeRange } from '../model/selection';
import { DEFAULT_LIMITS, SelectLimitError } from './find-series';
import { halveSteps } from './plan';
import { ReadBudget } from './read-budget';

/**
 * Maximum number of samples that a read of several steps holds in memory at once. The samples and their copies take
 * about 200 MB.
 */
const MAX_HELD_SAMPLES = 5_000_000;
/**
 * Maximum number of reads in one call. The reads run one at a time, and a request must be answered within half a
 * minute.
 */
const MAX_READS = 200;

/**
 * Reads a range of steps. If a read fails because its slice has too many samples, it is replaced by two reads, one for
 * each half of the range. The archive's directory shows in advance how many archived samples a read would return, so
 * the read fails before it fetches any of them. Samples in the warm table are counted only after they have been read.
 *
 * @param read reads a slice within the budget
 * @param stepMs undefined for samples as stored, which are read in one slice
 * @returns the results in order of time
 * @throws {SelectLimitError} when a single step has more samples than {@link DEFAULT_LIMITS}, or the range takes more
 *   than {@link MAX_READS}
 */
export async function readInSlices<Part>(
  read: (slice: TimeRange, budget: ReadBudget) => Promise<Part>,
  range: TimeRange,
  stepMs: number | undefined,
): Promise<Part[]> {
  const left = [range];
  const parts: Part[] = [];
  let reads = 0;
  for (let slice = left.shift(); slice !== undefined; slice = left.shift()) {
    const halves = stepMs === undefined ? undefined : halveSteps(slice, stepMs);
    const samples = halves === undefined ? DEFAULT_LIMITS.samples : MAX_HELD_SAMPLES;
    reads++;
    try {
      parts.push(await read(slice, new ReadBudget({ ...DEFAULT_LIMITS, samples })));
    } catch (error) {
      const isTooLarge = error instanceof SelectLimitError && error.limit === 'samples';
      if (!isTooLarge || halves === undefined || reads + left.length >= MAX_READS) throw error;
      left.unshift(...halves);
    }
  }
  return parts;
}
