import { presentSeries } from '../../../shared/codec';
import { allowanceOfRequest, type GroupRow, Home, UNION_MS } from '../../../shared/dictionary/home';
import { SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import { METRIC_NAME } from '../../../shared/model/labels';
import { decodeLayout } from '../../../shared/model/layout';
import { unpackLayout } from '../../../shared/model/packed-layout';
import { JsonSeries } from '../../support/rows';

/** A home of series that are identified by small numbers. */
function homeOf() {
  const dictionary = new SeriesDictionary('tenant');
  const json = dictionary.tables(JsonSeries);
  const seriesOf = (i: number) => json.numberOf([[METRIC_NAME, `m${i}`]]);
  const home = new Home(dictionary, 'home');
  const split = (which: readonly number[], timestamp = 0, allowance = allowanceOfRequest()) =>
    home.split(
      {
        timestamp,
        series: Int32Array.from(which, seriesOf),
        values: BigUint64Array.from(which, (i) => BigInt(i)),
      },
      allowance,
    );
  return { dictionary, split };
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const layoutsOf = (rows: readonly GroupRow[]) => rows.map(({ layout }) => layout.id);
const countsOf = (rows: readonly GroupRow[]) => rows.map(({ layout }) => layout.seriesCount);
const isWhole = (rows: readonly GroupRow[]) => rows.every(({ presence }) => presence === undefined);

/** Values in the rows, by series name. */
function samplesOf(rows: readonly GroupRow[]): Map<string, number> {
  return new Map(
    rows.flatMap(({ layout, presence, values }) => {
      const { series } = decodeLayout(unpackLayout(layout.packed));
      const columns = presence === undefined ? [...series.keys()] : presentSeries(presence);
      const bytes = Buffer.from(values);
      return Array.from(columns, (column, i): [string, number] => [
        series[column]![0]![1],
        Number(bytes.readBigUInt64LE(8 * i)),
      ]);
    }),
  );
}

describe('a row', () => {
  test('of series that nobody has seen makes a union of them, and needs no presence map', () => {
    const { split } = homeOf();
    const rows = split(range(0, 10));
    expect(countsOf(rows)).toEqual([10]);
    expect(isWhole(rows)).toBe(true);
    expect(samplesOf(rows)).toEqual(new Map(range(0, 10).map((i) => [`m${i}`, i])));
  });

  test('of some series of a union is written in its layout, with a presence map', () => {
    const { split } = homeOf();
    const whole = split(range(0, 10));
    const part = split([7, 3, 5]);
    expect(layoutsOf(part)).toEqual(layoutsOf(whole));
    expect(isWhole(part)).toBe(false);
    expect(samplesOf(part)).toEqual(new Map([3, 5, 7].map((i) => [`m${i}`, i])));
  });

  test('with a new series adds it to the union, whose old series are encoded again', () => {
    const { split } = homeOf();
    split(range(0, 10));
    expect(countsOf(split(range(5, 12)))).toEqual([12]);
    expect(countsOf(split(range(0, 10)))).toEqual([12]);
  });

  test('that has series of two unions makes them one', () => {
    const { split } = homeOf();
    split(range(0, 10));
    split(range(10, 20));
    expect(countsOf(split(range(5, 15)))).toEqual([20]);
  });

  test('that has a series twice keeps its last value', () => {
    const { split } = homeOf();
    for (const which of [range(0, 3), range(0, 3)]) expect(samplesOf(split([...which, 1])).size).toBe(3);
  });

  test('of more series than a group holds is split into groups', () => {
    const { split } = homeOf();
    const rows = split(range(0, 1_000));
    expect(rows.length).toBeGreaterThan(2);
    expect(new Set(rows.map(({ splitBits }) => splitBits))).toEqual(new Set([2]));
    expect(samplesOf(rows).size).toBe(1_000);
  });
});

describe('a union', () => {
  test('that would have too many series stays as it is, and the new series have a union of their own', () => {
    const { split } = homeOf();
    const most = 4_096;
    split(range(0, most - 5));
    expect(samplesOf(split(range(most - 10, most + 10))).size).toBe(20);
    const others = countsOf(split(range(most - 5, most + 10)));
    expect(others.reduce((sum, count) => sum + count)).toBe(15);
  });

  test('that grew too often stays as it is', () => {
    const { split } = homeOf();
    const counts = range(0, 67).map((i) => countsOf(split(range(0, 10 + i))));
    expect([...counts.slice(0, 2), ...counts.slice(-3)]).toEqual([[10], [11], [74], [74, 1], [74, 2]]);
  });

  test('starts again after hours, without the series that are no longer sent', () => {
    const { split } = homeOf();
    split(range(0, 10), 0);
    expect(countsOf(split(range(0, 5), UNION_MS))).toEqual([10]);
    expect(countsOf(split(range(0, 5), UNION_MS + 1))).toEqual([5]);
  });
});

describe('a home', () => {
  test('with too many unions starts again', () => {
    const { split } = homeOf();
    for (let i = 0; i < 2_048; i++) split(range(3 * i, 3 * i + 3));
    expect(countsOf(split([1]))).toEqual([1]);
    const rows = split([6_144, 1]);
    expect(countsOf(rows).reduce((sum, count) => sum + count)).toBe(2);
  });

  test('of very many series has more groups, and none that the archive would not roll up', () => {
    const { split } = homeOf();
    const series = new Map<string, Set<string>>();
    for (const timestamp of [0, UNION_MS + 1])
      for (let from = 0; from < 40_000; from += 2_000)
        for (const row of split(range(from, from + 2_000), timestamp)) {
          const group = `${row.splitIndex} of ${2 ** row.splitBits}`;
          const known = series.get(group) ?? new Set();
          for (const name of samplesOf([row]).keys()) known.add(name);
          series.set(group, known);
        }
    expect(Math.max(...Array.from(series.values(), (names) => names.size))).toBeLessThan(4_096);
  });

  test('frees the memory of unions that started again', () => {
    const { dictionary, split } = homeOf();
    split(range(0, 200), 0);
    const bytes = dictionary.bytes;
    for (let i = 1; i < 10; i++) split(range(0, 200), i * (UNION_MS + 1));
    expect(dictionary.bytes).toBeLessThan(bytes + 2_000);
  });
});

describe('a request', () => {
  test('has small rows written in their union until their layouts take too many bytes', () => {
    const { split } = homeOf();
    const [whole] = split(range(0, 100));
    const allowance = { layoutBytes: 2 * whole!.layout.packed.length };
    const counts = range(0, 3).map((i) => countsOf(split([i], 0, allowance)));
    expect(counts).toEqual([[100], [100], [1]]);
  });

  test('lets unions grow until it has replaced too many bytes of layouts', () => {
    const { split } = homeOf();
    const [whole] = split(range(0, 100));
    const allowance = { layoutBytes: 1.5 * whole!.layout.packed.length };
    expect(countsOf(split(range(0, 101), 0, allowance))).toEqual([101]);
    expect(countsOf(split(range(50, 102), 0, allowance))).toEqual([52]);
    expect(countsOf(split(range(50, 102)))).toEqual([102]);
  });
});
