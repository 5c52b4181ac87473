import fc from 'fast-check';
import type { Block } from '../../../shared/codec';
import { AGGREGATES, downsample, type Samples, storedGrainMs } from '../../../shared/model/aggregates';
import { mergeAll } from '../../../shared/model/layout-block';
import { aggregateDays, findLoneDays } from '../../../shared/query/lone-days';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe('days that are aggregated as they were read', () => {
  test.each([
    { name: 'a day of one block is', blocks: [[0, 5], [DAY + 1]], lone: [[0, 5], [DAY + 1]] },
    { name: 'a day of two blocks is not', blocks: [[0, 5], [6], [DAY]], lone: [[DAY]] },
    {
      name: 'a block of two days is not, nor are others of them',
      blocks: [[5, DAY], [DAY + 1], [3]],
      lone: [],
    },
    { name: 'an empty block is not', blocks: [[], [0]], lone: [[0]] },
    { name: 'days are in order of time', blocks: [[DAY], [0]], lone: [[0], [DAY]] },
  ])('$name', ({ blocks, lone }) => {
    const found = findLoneDays(blocks.map((times) => blockOf(times.map((ms) => [ms, 1]))));
    expect(found.lone.map(({ timestamps }) => [...timestamps])).toEqual(lone);
    expect(found.others).toHaveLength(blocks.length - lone.length);
  });

  test('give the same values as their samples', () => {
    const values = fc.constantFrom(0, -0, Number.NaN, Infinity, 1.7e308, -1.7e308, 0.1, 1e16, 1);
    const blocks = fc.array(
      fc.record({
        day: fc.integer({ min: -2, max: 4 }),
        samples: fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: DAY - 1 }), values), {
          selector: ([ms]) => ms,
          maxLength: 20,
        }),
      }),
      { minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(
        blocks,
        fc.constantFrom(...AGGREGATES),
        fc.constantFrom(HOUR, DAY, 7 * DAY),
        (read, aggregate, stepMs) => {
          const all = read.map(({ day, samples }) =>
            blockOf(samples.map(([ms, value]) => [day * DAY + ms, value])),
          );
          const { lone, others } = findLoneDays(all);
          const days =
            lone.length === 0
              ? undefined
              : aggregateDays(lone, storedGrainMs(stepMs)!, aggregate, undefined)[0];
          const rest = samplesOf(mergeAll(others));
          expect(downsample(rest, stepMs, aggregate, days)).toEqual(
            downsample(samplesOf(mergeAll(all)), stepMs, aggregate),
          );
        },
      ),
    );
  });
});

function blockOf(samples: readonly (readonly [ms: number, value: number])[]): Block {
  const inOrder = samples.toSorted(([a], [b]) => a - b);
  return {
    layout: new Uint8Array(16),
    timestamps: Float64Array.from(inOrder, ([ms]) => ms),
    versions: inOrder.length === 0 ? [] : [{ arrivalMs: 0, sequence: 0n }],
    rowVersions: new Uint32Array(inOrder.length),
    columns: [{ values: Float64Array.from(inOrder, ([, value]) => value) }],
  };
}

function samplesOf(block: Block | undefined): Samples {
  return { timestamps: block?.timestamps ?? [], values: block?.columns[0]?.values ?? [] };
}
