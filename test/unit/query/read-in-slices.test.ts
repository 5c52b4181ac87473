import type { TimeRange } from '../../../shared/model/selection';
import type { ReadBudget } from '../../../shared/query/read-budget';
import { readInSlices } from '../../../shared/query/read-in-slices';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Makes a reader of regular samples, and the list of the requests that it gets. */
function readerOf(samplesPerHour: number) {
  const requested: TimeRange[] = [];
  const read = async (slice: TimeRange, budget: ReadBudget) => {
    requested.push(slice);
    budget.takeSeries(1, []);
    budget.takeSamples(((slice.toMs - slice.fromMs) / HOUR) * samplesPerHour, []);
    return slice;
  };
  return { requested, read };
}

describe('readInSlices', () => {
  it('reads a range at once if it has few samples', async () => {
    const { read } = readerOf(60);
    expect(await readInSlices(read, { fromMs: 0, toMs: DAY }, HOUR)).toEqual([{ fromMs: 0, toMs: DAY }]);
  });

  it('halves a slice that has more samples than a read may hold, and keeps the order of time', async () => {
    const { read } = readerOf(800_000);
    expect(await readInSlices(read, { fromMs: 0, toMs: DAY }, HOUR)).toEqual([
      { fromMs: 0, toMs: 6 * HOUR },
      { fromMs: 6 * HOUR, toMs: 12 * HOUR },
      { fromMs: 12 * HOUR, toMs: 18 * HOUR },
      { fromMs: 18 * HOUR, toMs: DAY },
    ]);
  });

  it('fails if a single step has too many samples', async () => {
    const { read } = readerOf(20_000_001);
    await expect(readInSlices(read, { fromMs: 0, toMs: DAY }, HOUR)).rejects.toThrow(
      'selects more than 20000000 samples',
    );
  });

  it('gives up a range that would take hundreds of reads', async () => {
    const { requested, read } = readerOf(4_000_000);
    await expect(readInSlices(read, { fromMs: 0, toMs: 400 * DAY }, HOUR)).rejects.toThrow('5000000');
    expect(requested.length).toBeLessThanOrEqual(200);
  });

  it('does not halve samples as stored', async () => {
    const { requested, read } = readerOf(20_000_001);
    await expect(readInSlices(read, { fromMs: 0, toMs: DAY }, undefined)).rejects.toThrow('20000000');
    expect(requested).toHaveLength(1);
  });
});
