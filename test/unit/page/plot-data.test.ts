import fc from 'fast-check';
import { lonelySamples, stackedData, withGaps } from '../../../functions/page/browser/plot-data';

const _ = undefined;

describe('gaps', () => {
  test.each([
    {
      name: 'samples at their usual interval are one line',
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
      name: "silence breaks the line at another series' time",
      data: {
        times: [0, 60, 120, 180, 240, 300],
        values: [
          [1, 2, null, null, null, 3],
          [1, 2, 3, 4, 5, 6],
        ],
      },
      drawn: {
        times: [0, 60, 120, 180, 240, 300],
        values: [
          [1, 2, _, _, _, 3],
          [1, 2, 3, 4, 5, 6],
        ],
      },
      breaks: false,
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
  ])('$name', ({ data, drawn, breaks }) => {
    const found = withGaps(data);
    if (breaks === false) expect(found.times).toEqual(drawn.times);
    else expect(found).toEqual(drawn);
  });

  test('no value is lost or moved', () => {
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

test('stacked series add up over those that are shown; where one has nothing it counts as nothing', () => {
  const data = {
    times: [0, 1, 2],
    values: [
      [1, _, null],
      [10, 20, null],
      [100, 200, 300],
      [5, 5, 5],
    ],
  };
  const stacked = stackedData(data, [true, true, true, false], [true, true, false, true]);
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
])('samples with nothing beside them: $row', ({ row, lonely }) => {
  expect(lonelySamples(row)).toEqual(lonely);
});
