import {
  ALL_TIME,
  type Deletion,
  selectorOf,
  selects,
  tombstonesOf,
  withinKnownEpochs,
} from '../../../shared/model/deletion';
import { metricOf, sourceOf } from '../../../shared/model/labels';
import { partitionOf, sourceIdOf, tenantIdOf } from '../../../shared/model/placement';
import { deletionRecords, hasArrived } from '../../../shared/stream/deletion-records';
import { decodeRecord } from '../../../shared/stream/record-decoder';

describe('a name selector', () => {
  test.each([
    { text: 'a.b', name: 'a.b', isSelected: true },
    { text: 'a.b', name: 'a.bc', isSelected: false },
    { text: 'a.*', name: 'a.bc', isSelected: true },
    { text: 'a.*', name: 'ab', isSelected: false },
    { text: '*', name: '__proto__', isSelected: true },
  ])('$text selects $name: $isSelected', ({ text, name, isSelected }) => {
    expect(selects(selectorOf(text)!, name)).toBe(isSelected);
  });

  test.each(['', 'a*b', '**', '*a'])('%j is refused', (text) => {
    expect(selectorOf(text)).toBeUndefined();
  });

  test('becomes a tombstone for each selected column of a read, and none for an empty range', () => {
    const series = ['a', 'b', 'ab'].map((name) => metricOf(sourceOf.host('h'), name));
    const version = { arrivalMs: 1, sequence: 2n };
    const deletion = { selector: { name: 'a', isPrefix: true }, fromMs: 5, toMs: 7, version };
    // A deletion that was cut to an empty range, because its epoch was replaced before the first day.
    const empty = { ...deletion, fromMs: 9 };
    expect(tombstonesOf([deletion, empty], series)).toEqual([
      { series: 0, fromMs: 5, toMs: 7, version },
      { series: 2, fromMs: 5, toMs: 7, version },
    ]);
  });
});

describe('records of a deletion', () => {
  const id = tenantIdOf('t');
  const source = sourceOf.host('h');
  const selector = { name: 'a', isPrefix: false };
  const tenant = (epochs: { fromDay: string; partitions: number }[]) => ({
    id,
    name: 't',
    placement: { epochs },
  });
  const placed = (partitions: number) => partitionOf(sourceIdOf(id, source), partitions);
  /** A number of partitions that moves the source out of partition 0. */
  const many = [2, 4, 8, 64, 4096].find((partitions) => placed(partitions) !== 0)!;
  const ranges = (
    epochs: { fromDay: string; partitions: number }[],
    range: { fromMs: number; toMs: number },
  ) =>
    deletionRecords(tenant(epochs), source, { selector, ...range }).map(({ partitionKey, data }) => {
      const { partition, groups, deletions } = decodeRecord(data);
      expect(partitionKey).toBe(`${id}:${partition}`);
      expect(groups).toEqual([]);
      expect(deletions).toHaveLength(1);
      const { fromMs, toMs, ...rest } = deletions![0]!;
      expect(rest).toEqual({ selector, sourceId: sourceIdOf(id, source) });
      return [partition, fromMs, toMs];
    });
  const day2 = Date.parse('2026-02-02T00:00:00Z');
  const grown = [
    { fromDay: '1970-01-01', partitions: 1 },
    { fromDay: '2026-02-02', partitions: many },
  ];

  test('are one, uncut, for a source that never changed its partition', () => {
    expect(ranges([grown[0]!], ALL_TIME)).toEqual([[0, ALL_TIME.fromMs, ALL_TIME.toMs]]);
  });

  test('go to each partition that the source was in, with the days it was there', () => {
    expect(ranges(grown, ALL_TIME)).toEqual([
      [0, ALL_TIME.fromMs, day2],
      [placed(many), day2, ALL_TIME.toMs],
    ]);
    expect(ranges(grown, { fromMs: day2 - 5, toMs: day2 })).toEqual([[0, day2 - 5, day2]]);
    expect(ranges(grown, { fromMs: day2, toMs: day2 + 1 })).toEqual([[placed(many), day2, day2 + 1]]);
  });

  test('are one when a new partition map leaves the source in its partition', () => {
    const same = [grown[0]!, { fromDay: '2026-02-02', partitions: 1 }];
    expect(ranges(same, { fromMs: day2 - 5, toMs: day2 + 5 })).toEqual([[0, day2 - 5, day2 + 5]]);
  });

  describe('have arrived', () => {
    const deletion = { selector, ...ALL_TIME };
    const first = { ...deletion, toMs: day2 };
    const second = { ...deletion, fromMs: day2 };
    let sequence = 0n;
    /** Returns a deletion as the catalogue has it after its arrival. */
    const arrived = (each: Deletion) =>
      withinKnownEpochs({ ...each, version: { arrivalMs: day2 + 5, sequence: sequence++ } });
    const before = [arrived(first), arrived(second)];
    const have = (...added: Deletion[]) =>
      hasArrived(tenant(grown), source, deletion, before, [...before, ...added.map(arrived)]);

    test('once the deletion of each partition is new in the catalogue', () => {
      expect(have()).toBe(false);
      expect(have(first)).toBe(false);
      expect(have(second)).toBe(false);
      expect(have(first, second)).toBe(true);
    });

    test.each([
      { by: 'another name', other: { ...second, selector: { name: 'b', isPrefix: false } } },
      { by: 'a prefix', other: { ...second, selector: { name: 'a', isPrefix: true } } },
      { by: 'another start', other: { ...second, fromMs: day2 + 1 } },
      { by: 'another end', other: { ...second, toMs: day2 + 1 } },
    ])('not if another deletion of the source came first, by $by', ({ other }) => {
      expect(have(first, other)).toBe(false);
      expect(have(first, other, second)).toBe(true);
    });
  });
});
