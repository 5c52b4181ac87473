import fc from 'fast-check';
import {
  AGGREGATES,
  downsample,
  grainsIn,
  type Samples,
  storedGrainMs,
} from '../../../shared/model/aggregates';
import { SharedTimes } from '../../../shared/model/shared-times';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('downsampling', () => {
  test('gives the mean of the samples present, at the start of each step, and leaves empty steps out', () => {
    const samples = { timestamps: [0, 60_000, 300_000, 900_001], values: [1, 2, 5, -4] };
    expect(listed(downsample(samples, 300_000))).toEqual({
      timestamps: [0, 300_000, 900_000],
      values: [1.5, 5, -4],
    });
  });

  test.each([
    { aggregate: 'avg', values: [3, 7] },
    { aggregate: 'min', values: [1, 7] },
    { aggregate: 'max', values: [6, 7] },
    { aggregate: 'sum', values: [9, 7] },
    { aggregate: 'count', values: [3, 1] },
    { aggregate: 'first', values: [1, 7] },
    { aggregate: 'last', values: [2, 7] },
  ] as const)('gives the $aggregate of each step', ({ aggregate, values }) => {
    const samples = { timestamps: [0, 1, 59_999, 60_000], values: [1, 6, 2, 7] };
    expect(listed(downsample(samples, 60_000, aggregate))).toEqual({ timestamps: [0, 60_000], values });
  });

  test('gives the largest finite number for a sum that overflows, because JSON has no infinity', () => {
    const samples = { timestamps: [0, 1], values: [-1.5e308, -1.5e308] };
    expect(listed(downsample(samples, 1000, 'sum')).values).toEqual([-Number.MAX_VALUE]);
  });

  test('of no samples gives no points', () => {
    expect(listed(downsample({ timestamps: [], values: [] }, 1000))).toEqual({ timestamps: [], values: [] });
  });
});

describe('stored hours and days', () => {
  const ODD = [0, -0, Number.NaN, Infinity, -Infinity, 1.7e308, -1.7e308, 5e-324, 0.1, 1e16, 1];
  const times = fc.oneof(
    fc.integer({ min: -3 * DAY, max: 6 * DAY }),
    fc.integer({ min: -3 * MINUTE, max: 6 * MINUTE }),
  );
  const histories = fc
    .uniqueArray(fc.tuple(times, fc.constantFrom(...ODD)), {
      selector: ([ms]) => ms,
      maxLength: 60,
    })
    .map((samples) => samples.sort(([a], [b]) => a - b));

  test('give what the samples give, whichever of them are stored', () => {
    fc.assert(
      fc.property(
        histories,
        fc.constantFrom(...AGGREGATES),
        fc.constantFrom(HOUR, 3 * HOUR, DAY, 7 * DAY),
        fc.array(fc.boolean(), { minLength: 9, maxLength: 9 }),
        (history, aggregate, stepMs, isStored) => {
          const all = samplesOf(history);
          const grainMs = storedGrainMs(stepMs)!;
          const dayOf = (ms: number) => Math.floor(ms / DAY);
          const stored = new Set(
            [...Map.groupBy(history, ([ms]) => dayOf(ms))]
              .filter(([day]) => isStored[day + 3])
              .map(([day]) => day),
          );
          const rolled = samplesOf(history.filter(([ms]) => stored.has(dayOf(ms))));
          const rest = history.filter(([ms]) => !stored.has(dayOf(ms)));
          const grains = grainsIn(rolled, grainMs, aggregate, new SharedTimes());
          const counts = grainsIn(rolled, grainMs, 'count', new SharedTimes()).values;
          const joined = [
            ...rest.map(([ms, value]) => ({ ms, value, count: 1 })),
            ...Array.from(grains.timestamps, (ms, i) => ({
              ms,
              value: grains.values[i]!,
              count: counts[i]!,
            })),
          ].sort((a, b) => a.ms - b.ms);
          const read = {
            timestamps: joined.map(({ ms }) => ms),
            values: joined.map(({ value }) => value),
            counts: joined.map(({ count }) => count),
          };
          expect(listed(downsample(read, stepMs, aggregate))).toEqual(
            listed(downsample(all, stepMs, aggregate)),
          );
        },
      ),
    );
  });
});

function samplesOf(history: readonly (readonly [ms: number, value: number])[]): Samples {
  return { timestamps: history.map(([ms]) => ms), values: history.map(([, value]) => value) };
}

function listed({ timestamps, values }: Samples) {
  return { timestamps: Array.from(timestamps), values: Array.from(values) };
}
