import { type Labels, labelsKey } from '../../../shared/model/labels';
import { InvalidSeriesError, LabelledRows } from '../../../shared/protocol/labelled-rows';
import { type NamePart, SeriesTable } from '../../../shared/protocol/series-table';
import { byteHash, TABLE_FULL_MS, tableMemory } from '../../../shared/protocol/table-memory';

/** Series of a name and the text of some bytes. */
function tableOf(): SeriesTable<NamePart, NamePart> {
  return new SeriesTable((scope, metric, bytes, start, end) => {
    const text = Buffer.from(bytes.subarray(start, end)).toString();
    if (text === 'bad') throw new InvalidSeriesError('bad');
    return labelsOf(`m${scope.id}_${metric.id}`, text);
  });
}

function labelsOf(name: string, text: string): Labels {
  return [
    ['__name__', name],
    ['job', text],
  ];
}

const NO_PART: NamePart = { id: 0 };

function findOrAdd(
  table: SeriesTable<NamePart, NamePart>,
  text: string | Buffer,
  scope = NO_PART,
  metric = NO_PART,
): ReturnType<typeof table.add> {
  // The bytes lie anywhere in a request.
  const bytes = Buffer.concat(['..', text, '...'].map((each) => Buffer.from(each)));
  const end = bytes.length - 3;
  return table.find(scope, metric, bytes, 2, end) || table.add(scope, metric, bytes, 2, end);
}

/** Two texts of equal hash: a difference in the highest bit of a word is made up for in the next. */
function pairOfEqualHash(): [Buffer, Buffer] {
  const made = Buffer.from('aaaaaaaaaaaa');
  const other = Buffer.from(made);
  other[3]! ^= 0x80;
  other[6]! ^= 0x01;
  other[7]! ^= 0x80;
  return [made, other];
}

describe('the table of series', () => {
  test('finds each of many series again, in any order, by all that names it', () => {
    const table = tableOf();
    const entries = table.begin(0);
    const parts = [0, 1, 2].map((id): NamePart => ({ id }));
    const known = new Map<number, string>();
    const each = function* () {
      for (let i = 0; i < 3_000; i++)
        for (const scope of parts) yield [`s${(i * 7) % 3_000}`, scope, parts[i % 3]!] as const;
    };
    for (const [text, scope, metric] of each())
      known.set(
        findOrAdd(table, text, scope, metric) as number,
        labelsKey(labelsOf(`m${scope.id}_${metric.id}`, text)),
      );
    expect(known.size).toBe(9_000);
    for (const [text, scope, metric] of [...each()].reverse()) {
      const found = findOrAdd(table, text, scope, metric) as number;
      expect(labelsKey(entries.labelsOf(found))).toBe(known.get(found));
      expect(entries.listOf(found).hashedAt(entries.indexOf(found)).labels).toEqual(entries.labelsOf(found));
    }
    table.clear();
  });

  test('tells series of equal hash apart', () => {
    const [first, second] = pairOfEqualHash();
    expect(byteHash(first, 0, 12)).toBe(byteHash(second, 0, 12));
    const table = tableOf();
    table.begin(0);
    const entries = [first, second].map((bytes) => findOrAdd(table, bytes));
    expect([first, second].map((bytes) => findOrAdd(table, bytes))).toEqual(entries);
    expect(entries[0]).not.toBe(entries[1]);
    table.clear();
  });

  test('keeps few of many series of equal hash, and others beside them', () => {
    // The pairs of equal hash, one after the other: 32 texts.
    const texts = Array.from({ length: 32 }, (_, i) =>
      Buffer.concat(Array.from({ length: 5 }, (_, bit) => pairOfEqualHash()[(i >> bit) & 1]!)),
    );
    expect(new Set(texts.map((text) => byteHash(text, 0, text.length))).size).toBe(1);
    const table = tableOf();
    table.begin(0);
    const kept = texts.map((text) => findOrAdd(table, text)).filter((made) => typeof made === 'number');
    expect(kept).toHaveLength(8);
    expect(texts.flatMap((text) => table.find(NO_PART, NO_PART, text, 0, text.length) || [])).toEqual(kept);
    expect(typeof findOrAdd(table, 'another')).toBe('number');
    table.clear();
  });

  test('keeps series whose bytes were chosen for what their hashes share', () => {
    const chosen: Buffer[] = [];
    for (let i = 0; chosen.length < 100; i++) {
      const text = Buffer.from(i.toString(36).padStart(6, '.'));
      if ((byteHash(text, 0, 6) & 0x7ff) === 5) chosen.push(text);
    }
    const table = tableOf();
    table.begin(0);
    expect(chosen.filter((text) => typeof findOrAdd(table, text) !== 'number')).toEqual([]);
    table.clear();
  });

  test('that is full knows what it knew, does not keep others, and is emptied after a while', () => {
    const table = tableOf();
    table.begin(1_000);
    const known = findOrAdd(table, 'known');
    const { leftBytes } = tableMemory;
    tableMemory.use(leftBytes);
    const stranger = findOrAdd(table, 'stranger');
    tableMemory.use(-leftBytes);
    expect(stranger).toMatchObject({ labels: labelsOf('m0_0', 'stranger') });
    // Room alone changes nothing: its first entry is too young.
    table.begin(1_000 + TABLE_FULL_MS - 1);
    expect([findOrAdd(table, 'known'), typeof findOrAdd(table, 'stranger')]).toEqual([known, 'object']);
    const before = table.begin(1_000 + TABLE_FULL_MS - 1);
    table.begin(1_000 + TABLE_FULL_MS);
    expect(table.find(NO_PART, NO_PART, Buffer.from('known'), 0, 5)).toBe(0);
    expect(typeof findOrAdd(table, 'stranger')).toBe('number');
    // A request that is still being written reads its own entries.
    expect(before.labelsOf(known as number)).toEqual(labelsOf('m0_0', 'known'));
    table.clear();
  });

  test('does not keep a series that is invalid, or named by too many bytes', () => {
    const table = tableOf();
    table.begin(0);
    expect(() => findOrAdd(table, 'bad')).toThrow(InvalidSeriesError);
    expect(table.find(NO_PART, NO_PART, Buffer.from('bad'), 0, 3)).toBe(0);
    table.clear();
  });
});

describe('rows', () => {
  test('have the series that are kept by their lists, and others by their labels', () => {
    const table = tableOf();
    const entries = table.begin(0);
    const kept = ['a', 'b', 'c'].map((id) => findOrAdd(table, 'job', NO_PART, { id: id.charCodeAt(0) }));
    const { leftBytes } = tableMemory;
    tableMemory.use(leftBytes);
    const stranger = findOrAdd(table, 'job', NO_PART, { id: 1 });
    tableMemory.use(-leftBytes);
    const rows = new LabelledRows(entries);
    for (const [i, series] of [kept[2]!, kept[0]!, kept[1]!].entries()) rows.add(series, 60_000, i, 0);
    for (const [i, series] of [kept[0]!, stranger, stranger].entries()) rows.add(series, 120_000, 9 + i, 0);
    const { sources, samples } = rows.finish();
    expect([sources.length, samples]).toEqual([1, 6]);
    const [listed, mixed] = sources[0]![1];
    expect([...listed!.values]).toEqual([0n, 1n, 2n]);
    expect(listed!.columns).toMatchObject({ isListed: true, parts: [{ count: 3 }] });
    expect([...listed!.columns.parts![0]!.indexes!]).toEqual([2, 0, 1]);
    expect(listed!.columns.key).toMatch(/^series l\d+ 2-2,0-1,$/);
    const names = listed!.columns.series().flatMap((series) => series.names);
    expect(names).toEqual(['m0_99', 'm0_97', 'm0_98']);
    expect([...mixed!.values]).toEqual([9n, 10n, 11n]);
    expect(mixed!.columns.isListed).toBeUndefined();
    expect(mixed!.columns.series().flatMap((series) => series.names)).toEqual(['m0_97', 'm0_1', 'm0_1']);
    table.clear();
  });
});
