import type { TimeRange } from '../../../shared/model/selection';
import { TooManyHeldError } from '../../../shared/query/beyond-hot';
import { SelectLimitError } from '../../../shared/query/find-series';
import { readInSlices } from '../../../shared/query/read-in-slices';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Makes a reader of samples of which a read may hold `most`, and the list of what it was asked for. */
function readerOf(samplesPerHour: number, most: number) {
  const asked: TimeRange[] = [];
  const read = async (slice: TimeRange, maxSamples = Infinity) => {
    asked.push(slice);
    const samples = ((slice.toMs - slice.fromMs) / HOUR) * samplesPerHour;
    if (samples > maxSamples) throw new TooManyHeldError('many days are not rolled up');
    if (samples > most) throw new SelectLimitError('samples', `selects more than ${most} samples`);
    return slice;
  };
  return { asked, read };
}

describe('readInSlices', () => {
  it('reads a range at once if it has few samples', async () => {
    const { read } = readerOf(60, 1_000_000);
    expect(await readInSlices(read, { fromMs: 0, toMs: DAY }, HOUR, 1)).toEqual([{ fromMs: 0, toMs: DAY }]);
  });

  it('halves a slice that has more samples than a read may hold, and keeps the order of time', async () => {
    const { read } = readerOf(3600, 7 * 3600);
    expect(await readInSlices(read, { fromMs: 0, toMs: DAY }, HOUR, 1)).toEqual([
      { fromMs: 0, toMs: 6 * HOUR },
      { fromMs: 6 * HOUR, toMs: 12 * HOUR },
      { fromMs: 12 * HOUR, toMs: 18 * HOUR },
      { fromMs: 18 * HOUR, toMs: DAY },
    ]);
  });

  it('fails if a single step has too many samples', async () => {
    const { read } = readerOf(3600, 3000);
    await expect(readInSlices(read, { fromMs: 0, toMs: DAY }, HOUR, 1)).rejects.toThrow(
      'selects more than 3000 samples',
    );
  });

  it('does not halve samples as stored', async () => {
    const { asked, read } = readerOf(3600, 3000);
    await expect(readInSlices(read, { fromMs: 0, toMs: DAY }, undefined, 1)).rejects.toThrow('3000');
    expect(asked).toHaveLength(1);
  });

  it('passes on that no series exists', async () => {
    expect(await readInSlices(async () => undefined, { fromMs: 0, toMs: DAY }, HOUR, 1)).toBeUndefined();
  });
});
