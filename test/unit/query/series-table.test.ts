import fc from 'fast-check';
import { joinTables, seriesTable } from '../../../shared/query/series-table';

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

  test('joined from the tables of consecutive slices is the table of the whole', () => {
    const times = fc
      .uniqueArray(fc.nat({ max: 20 }), { maxLength: 8 })
      .map((all) => all.sort((a, b) => a - b));
    const cuts = fc
      .uniqueArray(fc.nat({ max: 20 }), { maxLength: 3 })
      .map((all) => all.sort((a, b) => a - b));
    void fc.assert(
      fc.property(fc.array(times, { minLength: 1, maxLength: 4 }), cuts, (all, starts) => {
        const within = (from: number, to: number) =>
          all.map((each) => each.filter((time) => time >= from && time < to)).map(samplesAt);
        const bounds = [0, ...starts, 21];
        const parts = bounds.slice(1).map((to, i) => seriesTable(within(bounds[i]!, to), undefined));
        expect(comparable(joinTables(parts))).toEqual(comparable(seriesTable(within(0, 21), undefined)));
      }),
    );
  });
});

const samplesAt = (times: readonly number[]) => ({
  timestamps: times,
  values: times.map((time) => time * 10),
});
const comparable = ({ times, values }: ReturnType<typeof seriesTable>) => ({
  times: Array.from(times),
  values: values.map((row) => Array.from(row)),
});
