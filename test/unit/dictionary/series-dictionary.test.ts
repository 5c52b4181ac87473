import { NamedSeries } from '../../../shared/dictionary/named-series';
import { InvalidSeriesError, SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import { type Labels, labelsKey, METRIC_NAME, sourceOf } from '../../../shared/model/labels';
import { LabelsHash } from '../../../shared/model/labels-hash';
import { JsonSeries } from '../../support/rows';

const seriesOf = (i: number): Labels => [
  [METRIC_NAME, `m${i % 100}`],
  ['instance', `i${Math.floor(i / 100)}`],
  ['job', 'node'],
];

test('a series has one number, whichever bytes and whoever name it', () => {
  const dictionary = new SeriesDictionary('t');
  const json = dictionary.tables(JsonSeries);
  const named = dictionary.tables(NamedSeries);
  const set = named.setOf(seriesOf(0).slice(1));
  const numbers = Array.from({ length: 200 }, (_, i) => {
    const name = Buffer.from(`m${i % 100}`);
    const fromName = () => named.seriesOf(set, named.nameOf(name, 0, name.length));
    const all = [
      () => json.numberOf(seriesOf(i)),
      () => json.numberOf(seriesOf(i).toReversed()),
      ...(i < 100 ? [fromName] : []),
    ];
    // For each way of naming a series, there is a series that is first found in that way.
    const found = Array.from({ length: 2 * all.length }, (_, turn) => all[(i + turn) % all.length]!());
    expect(new Set(found).size).toBe(1);
    return found[0]!;
  });
  expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
  for (const [i, number] of numbers.entries()) {
    expect(dictionary.labelsOf(number)).toEqual(seriesOf(i));
    expect(dictionary.keyBytesOf(number)).toBe(Buffer.byteLength(labelsKey(seriesOf(i))));
    expect(dictionary.sourceOfSeries(number)).toBe(dictionary.sourceOf(seriesOf(i)));
    expect(dictionary.sourceOfSeries(number).labels).toEqual(sourceOf.labels(seriesOf(i)));
  }
});

test('series of a label set have the same numbers when others name them', () => {
  const dictionary = new SeriesDictionary('t');
  const named = dictionary.tables(NamedSeries);
  const json = dictionary.tables(JsonSeries);
  const names = Array.from({ length: 100 }, (_, i) => {
    const name = Buffer.from(`m${i}`);
    return named.nameOf(name, 0, name.length);
  });
  const numbersOf = (i: number) => {
    const set = named.setOf(seriesOf(100 * i).slice(1));
    return names.map((name) => named.seriesOf(set, name));
  };
  // Number so many series that the index must grow in between.
  for (let i = 0; i < 20; i++) {
    const first = numbersOf(i);
    expect(first).toEqual(Array.from(names, (_, j) => 100 * i + j + 1));
    if (i % 2 === 0) expect(first.map((_, j) => json.numberOf(seriesOf(100 * i + j)))).toEqual(first);
    expect(numbersOf(i)).toEqual(first);
  }
  // One name occurs twice.
  const set = named.setOf([['job', 'other']]);
  const twice = [names[0]!, names[1]!, names[0]!].map((name) => named.seriesOf(set, name));
  expect(twice).toEqual([2_001, 2_002, 2_001]);
});

test('the labels of 5,000 series are found again, long after they were new', () => {
  const dictionary = new SeriesDictionary('t');
  const json = dictionary.tables(JsonSeries);
  const numbers = Array.from({ length: 5_000 }, (_, i) => json.numberOf(seriesOf(i)));
  expect(new Set(numbers).size).toBe(5_000);
  for (const [i, number] of numbers.entries()) expect(dictionary.labelsOf(number)).toEqual(seriesOf(i));
  expect(Array.from(numbers, (_, i) => json.numberOf(seriesOf(i)))).toEqual(numbers);
});

/** Two values of a label whose pairs with the label's name have the same hash. */
function valuesOfEqualHash(name: string): readonly [string, string] {
  const hash = new LabelsHash();
  const known = new Map<number, string>();
  for (let i = 0; i < 1_000_000; i++) {
    const value = `v${i}`;
    const other = known.get(hash.of([[name, value]]).number);
    if (other !== undefined) return [other, value];
    known.set(hash.number, value);
  }
  throw new Error(`no two values of ${name} have one hash`);
}

test('series of equal hash have numbers of their own, however many a tenant makes', () => {
  const values = ['a', 'b', 'c', 'd', 'e'].map((name) => [name, valuesOfEqualHash(name)] as const);
  const all = Array.from(
    { length: 32 },
    (_, i): Labels => [
      [METRIC_NAME, 'm'],
      ...values.map(([name, pair], bit) => [name, pair[(i >> bit) & 1]!] as const),
    ],
  );
  expect(new Set(all.map((labels) => new LabelsHash().of(labels).number)).size).toBe(1);
  const dictionary = new SeriesDictionary('t');
  const json = dictionary.tables(JsonSeries);
  const numbers = all.map((labels) => json.numberOf(labels));
  expect(new Set(numbers).size).toBe(32);
  expect(all.map((labels) => json.numberOf(labels.toReversed()))).toEqual(numbers);
});

test('a series that is invalid, or too long, has no number', () => {
  const dictionary = new SeriesDictionary('t');
  const json = dictionary.tables(JsonSeries);
  for (const labels of [[], [[METRIC_NAME, 'x'.repeat(5_000)]]] as Labels[]) {
    expect(() => json.numberOf(labels)).toThrow(InvalidSeriesError);
    expect(() => json.numberOf(labels)).toThrow(InvalidSeriesError);
  }
  expect(dictionary.size).toBe(0);
});
