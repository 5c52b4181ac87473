import fc from 'fast-check';
import {
  alignedData,
  combinedData,
  extremesOf,
  joinedData,
  lonelySamples,
  nearestIndex,
  reachOf,
  stackedData,
  withGaps,
} from '../../../functions/page/browser/graphs/plot-data';

const _ = undefined;

describe('gaps', () => {
  test.each([
    {
      name: 'samples at their usual interval make one line',
      data: { times: [0, 60, 120, 180], values: [[1, 2, 3, 4]] },
      drawn: { times: [0, 60, 120, 180], values: [[1, 2, 3, 4]] },
    },
    {
      name: 'a late sample is no gap',
      data: { times: [0, 60, 120, 240, 300], values: [[1, 2, 3, 4, 5]] },
      drawn: { times: [0, 60, 120, 240, 300], values: [[1, 2, 3, 4, 5]] },
    },
    {
      name: 'silence breaks the line, at a time of its own',
      data: { times: [0, 60, 120, 600, 660], values: [[1, 2, 3, 4, 5]] },
      drawn: { times: [0, 60, 120, 180, 600, 660], values: [[1, 2, 3, null, 4, 5]] },
    },
    {
      name: "silence breaks the line at each of another series' times",
      data: {
        times: [0, 60, 120, 180, 240, 300, 360],
        values: [
          [1, 2, 3, null, null, null, 4],
          [1, 2, 3, 4, 5, 6, 7],
        ],
      },
      drawn: {
        times: [0, 60, 120, 180, 240, 300, 360],
        values: [
          [1, 2, 3, null, null, null, 4],
          [1, 2, 3, 4, 5, 6, 7],
        ],
      },
    },
    {
      name: 'series of different intervals go on between the samples of others',
      data: {
        times: [0, 5, 60, 65, 120],
        values: [
          [1, null, 2, null, 3],
          [null, 1, null, 2, null],
        ],
      },
      drawn: {
        times: [0, 5, 60, 65, 120],
        values: [
          [1, _, 2, _, 3],
          [_, 1, _, 2, _],
        ],
      },
    },
    { name: 'nothing', data: { times: [], values: [[], []] }, drawn: { times: [], values: [[], []] } },
  ])('$name', ({ data, drawn }) => {
    expect(withGaps(data)).toEqual(drawn);
  });

  test('no sample is lost or moved', () => {
    const table = fc.array(
      fc.tuple(fc.integer({ min: 1, max: 500 }), fc.option(fc.integer()), fc.option(fc.integer())),
    );
    fc.assert(
      fc.property(table, (rows) => {
        let time = 0;
        const times = rows.map(([step]) => (time += step));
        const values = [rows.map(([, a]) => a), rows.map(([, , b]) => b)];
        const drawn = withGaps({ times, values });
        expect([...drawn.times]).toEqual([...new Set(drawn.times)].sort((a, b) => a - b));
        for (const [i, row] of values.entries()) {
          const samples = row.flatMap((value, at) => (value === null ? [] : [[times[at], value]]));
          const shown = drawn.values[i]!.flatMap((value, at) =>
            typeof value === 'number' ? [[drawn.times[at], value]] : [],
          );
          expect(shown).toEqual(samples);
        }
      }),
    );
  });
});

test('chosen series are stacked in their order; one without a sample counts as zero', () => {
  const data = {
    times: [0, 1, 2],
    values: [
      [1, _, null],
      [10, 20, null],
      [100, 200, 300],
      [5, 5, 5],
    ],
  };
  const stacked = stackedData(data, [true, true, false, false]);
  expect(stacked.values).toEqual([
    [1, 0, null],
    [11, 20, null],
    [100, 200, 300],
    [5, 5, 5],
  ]);
});

test.each([
  { row: [1, 2, null, 3, null, 4, 5], lonely: [3] },
  { row: [1, null, 2, _, 3, null, 4], lonely: [0, 6] },
  { row: [null, 1, _, null], lonely: [1] },
  { row: [1], lonely: [0] },
  { row: [], lonely: [] },
])('samples without a neighbour are found: $row', ({ row, lonely }) => {
  expect(lonelySamples(row)).toEqual(lonely);
});

describe('series of several answers', () => {
  test('stand side by side at the times of all', () => {
    const a = { times: [0, 60], values: [[1, 2]] };
    const b = {
      times: [30, 60],
      values: [
        [3, 4],
        [5, null],
      ],
    };
    expect(joinedData([a, b])).toEqual({
      times: [0, 30, 60],
      values: [
        [1, null, 2],
        [null, 3, 4],
        [null, 5, null],
      ],
    });
    expect(joinedData([a])).toBe(a);
    expect(joinedData([])).toEqual({ times: [], values: [] });
  });

  test('are combined at common times, over those that have a sample there', () => {
    const data = {
      times: [0, 5, 60, 65, 120],
      values: [
        [1, null, 3, null, null],
        [null, 5, null, 9, null],
      ],
    };
    const aligned = alignedData(data, 60);
    expect(aligned).toEqual({
      times: [0, 60, 120],
      values: [
        [1, 3, null],
        [5, 9, null],
      ],
    });
    const by = (how: Parameters<typeof combinedData>[1]) => combinedData(aligned, how).values;
    expect(by('average')).toEqual([[3, 6, null]]);
    expect(by('min')).toEqual([[1, 3, null]]);
    expect(by('max')).toEqual([[5, 9, null]]);
    expect(by('sum')).toEqual([[6, 12, null]]);
  });
});

describe('a moment', () => {
  const times = [0, 60, 120, 600];
  test.each([
    { timeS: 119, index: 2 },
    { timeS: 91, index: 2 },
    { timeS: 89, index: 1 },
    { timeS: -60, index: 0 },
    { timeS: -61, index: undefined },
    { timeS: 180, index: 2 },
    { timeS: 181, index: undefined },
    { timeS: 660, index: 3 },
    { timeS: 661, index: undefined },
  ])('$timeS s has the nearest sample, and none that is far away', ({ timeS, index }) => {
    expect(nearestIndex(times, timeS, reachOf(times))).toBe(index);
    expect(nearestIndex([], timeS, 60)).toBeUndefined();
  });

  test('reaches as far as the usual interval between samples, a minute at least', () => {
    expect([reachOf([]), reachOf([0, 5, 10]), reachOf([0, 3600, 7200, 7260])]).toEqual([60, 60, 3600]);
  });
});

test('extremes are those of the chosen series within the range', () => {
  const data = {
    times: [0, 10, 20],
    values: [
      [-5, 1, 9],
      [100, 100, 100],
      [null, 3, _],
    ],
  };
  expect(extremesOf(data, [true, false, true], { fromS: 5, toS: 15 })).toEqual({ min: 1, max: 3 });
  expect(extremesOf(data, [false, false, false], { fromS: 0, toS: 20 })).toEqual({ min: NaN, max: NaN });
});
