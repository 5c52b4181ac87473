import fc from 'fast-check';
import { CompactMap } from '../../../shared/model/compact-map';

const budget = (entries: number) => ({ name: 'test', bytes: 32 * entries });

describe('a compact map', () => {
  test('is a map, while it has room', () => {
    const set = fc.tuple(fc.string({ maxLength: 3 }), fc.integer({ min: 0, max: 2 ** 49 }));
    fc.assert(
      fc.property(fc.array(set, { maxLength: 300 }), (sets) => {
        const compact = new CompactMap(budget(1_000));
        const map = new Map<string, number>();
        for (const [text, value] of sets) {
          expect(compact.get(text)).toBe(map.get(text));
          compact.set(text, value);
          map.set(text, value);
        }
        for (const [text, value] of map) expect(compact.get(text)).toBe(value);
        expect(compact.size).toBe(map.size);
      }),
    );
  });

  test('holds all entries that it is made for, but for a few in 100,000', () => {
    const entries = 65_536;
    const compact = new CompactMap(budget(entries));
    for (let i = 0; i < entries; i++) compact.set(`group${i}`, i);
    let lost = 0;
    for (let i = 0; i < entries; i++) if (compact.get(`group${i}`) !== i) lost++;
    expect(lost).toBeLessThan(10);
  });

  test.each([40_000, 65_536, 93_750])('made for %i entries takes no more than its budget', (entries) => {
    const compact = new CompactMap(budget(entries));
    for (let i = 0; i < 5 * entries; i++) compact.set(`group${i}`, i);
    // A slot takes 16 bytes: two halves of a hash, and a number.
    expect(16 * compact.size).toBeLessThanOrEqual(budget(entries).bytes);
    expect(16 * compact.size).toBeGreaterThan(budget(entries).bytes / 2.5);
  });

  test.each([
    { entries: 1.5, hits: 0.9 },
    { entries: 2, hits: 0.75 },
    { entries: 4, hits: 0.15 },
  ])(
    'hits for $hits of the look-ups when $entries times the entries it is made for are asked for in turns',
    ({ entries, hits }) => {
      const compact = new CompactMap(budget(8_192));
      const texts = Array.from({ length: 8_192 * entries }, (_, i) => `group${i}`);
      let found = 0;
      for (let turn = 0; turn < 3; turn++) {
        found = 0;
        for (const text of texts) {
          if (compact.get(text) === undefined) compact.set(text, 1);
          else found++;
        }
      }
      expect(found / texts.length).toBeGreaterThan(hits);
    },
  );
});
