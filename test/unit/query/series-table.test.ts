import { seriesTable } from '../../../shared/query/series-table';

describe('a table of series', () => {
  test('has a value or NaN of each series for each time of any series', () => {
    const table = seriesTable(
      [
        { timestamps: [0, 60_000], values: [1, 2] },
        { timestamps: [30_000, 60_000], values: [3, 4] },
      ],
      undefined,
    );
    expect(Array.from(table.times)).toEqual([0, 30_000, 60_000]);
    expect(table.values.map((row) => Array.from(row))).toEqual([
      [1, Number.NaN, 2],
      [Number.NaN, 3, 4],
    ]);
  });

  test('is refused before it is made if few samples at different times would make it large', () => {
    const alone = Array.from({ length: 1500 }, (_, i) => ({ timestamps: [i], values: [1] }));
    expect(() => seriesTable(alone, undefined)).toThrow(
      '1500 metrics have samples at 1500 different times, a table of 2250000 values',
    );
  });
});
