import { SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import { labelsOf } from '../../../shared/model/labels';
import { RequestRows } from '../../../shared/protocol/request-rows';
import { JsonSeries } from '../../support/rows';

function seriesOf(dictionary: SeriesDictionary, job: string, names: readonly string[]): number[] {
  const json = dictionary.tables(JsonSeries);
  return names.map((name) => json.numberOf(labelsOf(['__name__', name], ['job', job])));
}

test('rows have the series of a source and time in the order of arrival', () => {
  const dictionary = new SeriesDictionary('t');
  const [a, b, c] = seriesOf(dictionary, 'one', ['a', 'b', 'c']) as [number, number, number];
  const [other] = seriesOf(dictionary, 'two', ['a']) as [number];
  const rows = new RequestRows(dictionary);
  const samples = [
    [c, 60_000],
    [a, 60_000],
    [other, 60_000],
    [b, 60_000],
    [a, 120_000],
    [a, 120_000],
  ] as const;
  for (const [i, [series, time]] of samples.entries()) expect(rows.add(series, time, i, 0)).toBe(true);
  const { sources, samples: count } = rows.finish();
  expect(count).toBe(6);
  expect(
    sources.map(([source, ofSource]) => [
      source.labels,
      ofSource.map(({ timestamp, series, values }) => [timestamp, [...series], [...values]]),
    ]),
  ).toEqual([
    [
      [['job', 'one']],
      [
        [60_000, [c, a, b], [0n, 1n, 3n]],
        [120_000, [a, a], [4n, 5n]],
      ],
    ],
    [[['job', 'two']], [[60_000, [other], [2n]]]],
  ]);
});

test('two requests parsed at the same time count their labels separately', () => {
  const dictionary = new SeriesDictionary('t');
  const [series] = seriesOf(dictionary, 'one', ['a']) as [number];
  for (let request = 0; request < 3; request++) {
    const rows = new RequestRows(dictionary);
    expect(rows.add(series, 60_000, 0, 0)).toBe(true);
    expect(rows.finish()).toMatchObject({ samples: 1 });
  }
});
