import { ByteTable, byteHash } from '../../../shared/dictionary/byte-table';

const tableOf = () => new ByteTable(() => {});

/** Finds the entry of a string, or adds it. The bytes lie in the middle of a buffer, as in a request. */
function findOrAdd(table: ByteTable, text: string | Buffer, value = 0, scope = 0, part = 0): number {
  const bytes = Buffer.concat(['..', text, '...'].map((each) => Buffer.from(each)));
  const end = bytes.length - 3;
  return table.find(bytes, 2, end, scope, part) || table.add(bytes, 2, end, value, scope, part);
}

/**
 * Two strings with equal hashes. One differs in the highest bit of a word, and a difference in the next word cancels
 * that.
 */
function pairOfEqualHash(): [Buffer, Buffer] {
  const made = Buffer.from('aaaaaaaaaaaa');
  const other = Buffer.from(made);
  other[3]! ^= 0x80;
  other[6]! ^= 0x01;
  other[7]! ^= 0x80;
  return [made, other];
}

describe('the table of bytes', () => {
  test('finds each of many entries again, in any order, by bytes, scope and part', () => {
    const table = tableOf();
    const added = new Map<number, readonly [text: string, scope: number, part: number]>();
    for (let i = 0; i < 3_000; i++)
      for (const scope of [0, 1, 2]) {
        const text = `s${(i * 7) % 3_000}`;
        added.set(findOrAdd(table, text, 9 * i + scope, scope, i % 3), [text, scope, i % 3]);
      }
    expect(added.size).toBe(9_000);
    for (const [entry, [text, scope, part]] of [...added].reverse()) {
      expect(findOrAdd(table, text, -1, scope, part)).toBe(entry);
      expect([table.bytesOf(entry).toString(), table.scopeOf(entry), table.partOf(entry)]).toEqual([
        text,
        scope,
        part,
      ]);
      expect(table.valueOf(entry) % 9).toBe(scope);
    }
  });

  test('guesses the entry that followed the last one, where its bytes stand', () => {
    const table = tableOf();
    const texts = ['cpu,host=a', 'cpu,host=b'];
    for (const text of texts) findOrAdd(table, text);
    const [first, second] = texts.map((text) => findOrAdd(table, text));
    expect(findOrAdd(table, texts[0]!)).toBe(first);
    const space = 0x20;
    expect(table.guess(Buffer.from('cpu,host=c '), 0, space)).toBe(0);
    expect(table.guess(Buffer.from('cpu,host='), 0, space)).toBe(0);
    expect(table.guess(Buffer.from('cpu,host=b'), 0, space)).toBe(0);
    expect(table.guess(Buffer.from('cpu,host=b x'), 0, space, 1)).toBe(0);
    expect(table.guess(Buffer.from('..cpu,host=b x'), 2, space)).toBe(second);
  });

  test('distinguishes bytes of equal hash', () => {
    const [first, second] = pairOfEqualHash();
    expect(byteHash(first, 0, 12)).toBe(byteHash(second, 0, 12));
    const table = tableOf();
    const entries = [first, second].map((bytes) => findOrAdd(table, bytes));
    expect([first, second].map((bytes) => findOrAdd(table, bytes))).toEqual(entries);
    expect(entries[0]).not.toBe(entries[1]);
  });

  test('finds only a few of many entries of equal hash again, and all entries of other hashes', () => {
    // Five parts, each one of two strings with equal hashes, make 32 strings with equal hashes.
    const texts = Array.from({ length: 32 }, (_, i) =>
      Buffer.concat(Array.from({ length: 5 }, (_, bit) => pairOfEqualHash()[(i >> bit) & 1]!)),
    );
    expect(new Set(texts.map((text) => byteHash(text, 0, text.length))).size).toBe(1);
    const table = tableOf();
    const entries = texts.map((text) => findOrAdd(table, text));
    const other = findOrAdd(table, 'another');
    // Look them up in reverse order, so that none is found because it is the one expected next.
    const found = texts.toReversed().map((text) => table.find(text, 0, text.length));
    expect(found.filter((entry) => entry !== 0).toReversed()).toEqual(entries.slice(0, 8));
    expect(findOrAdd(table, 'another')).toBe(other);
  });

  test('finds bytes that were chosen for what their hashes share', () => {
    const chosen: Buffer[] = [];
    for (let i = 0; chosen.length < 100; i++) {
      const text = Buffer.from(i.toString(36).padStart(6, '.'));
      if ((byteHash(text, 0, 6) & 0x7ff) === 5) chosen.push(text);
    }
    const table = tableOf();
    const entries = chosen.map((text) => findOrAdd(table, text));
    expect(chosen.toReversed().map((text) => table.find(text, 0, 6))).toEqual(entries.toReversed());
  });

  test('holds bytes of any length, and counts their memory', () => {
    let used = 0;
    const table = new ByteTable((bytes) => {
      used += bytes;
    });
    const long = Buffer.alloc(1_000_000, 'x');
    const entries = ['before', long, 'after'].map((bytes) => findOrAdd(table, bytes));
    expect(['before', long, 'after'].map((bytes) => findOrAdd(table, bytes))).toEqual(entries);
    expect(table.bytesOf(entries[1]!).equals(long)).toBe(true);
    expect(used).toBeGreaterThan(1_000_000);
    expect(used).toBeLessThan(1_100_000);
  });
});
