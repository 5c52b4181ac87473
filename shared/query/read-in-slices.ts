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
 * Reads a whole range of steps at once if that holds few samples in memory, as with rollups. Otherwise halves the range
 * until each slice has few samples. From the archive's directory, a read counts archived samples in advance; if there
 * are too many, it fails before reading any. It counts samples of the warm table only after it has read them.
 *
 * @param read must throw {@link SelectLimitError} for more than `mostSamples`
 * @param stepMs undefined for samples as stored, which are read at once
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
