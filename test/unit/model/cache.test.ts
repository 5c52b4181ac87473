import fc from 'fast-check';
import { Cache } from '../../../shared/model/cache';
import { until } from '../../support/until';

/** Bytes that the cache counts for an entry in addition to its stated size. */
const ENTRY_BYTES = 120;

const budget = (bytes: number) => ({ name: 'test', bytes });
/** A cache that has room for `entries` entries. */
const ofEntries = (entries: number, ttlMs?: number) =>
  new Cache<number>(budget(entries * (ENTRY_BYTES + 80)), () => 80, ttlMs === undefined ? {} : { ttlMs });
const held = (cache: Cache<number>, owner: string, count: number) =>
  Array.from({ length: count }, (_, i) => cache.get(String(i), owner)).filter((each) => each !== undefined)
    .length;

describe('a cache', () => {
  test('acts as a map that may forget entries, and never holds more than its bytes', () => {
    const step = fc.record({
      what: fc.constantFrom('set', 'delete'),
      owner: fc.constantFrom('a', 'b', 'c'),
      key: fc.integer({ min: 0, max: 20 }),
      bytes: fc.nat(3_000),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const cache = new Cache<number>(budget(10_000), (bytes) => bytes);
        const map = new Map<string, number>();
        for (const { what, owner, key, bytes } of steps) {
          if (what === 'set') {
            cache.set(`${key}`, bytes, owner);
            map.set(`${owner} ${key}`, bytes);
            // The entry that was set last is there.
            expect(cache.get(`${key}`, owner)).toBe(bytes);
          } else {
            cache.delete(`${key}`, owner);
            map.delete(`${owner} ${key}`);
          }
          expect(cache.bytes).toBeLessThanOrEqual(10_000);
        }
        let bytes = 0;
        for (const [name, value] of map) {
          const [owner, key] = name.split(' ') as [string, string];
          const found = cache.get(key, owner);
          if (found === undefined) continue;
          expect(found).toBe(value);
          bytes += ENTRY_BYTES + value;
        }
        expect(cache.bytes).toBe(bytes);
      }),
    );
  });

  test('keeps nothing of an entry larger than itself, not even the former one', () => {
    const cache = new Cache<number>(budget(1_000), (bytes) => bytes);
    cache.set('a', 100);
    cache.set('a', 5_000);
    expect([cache.get('a'), cache.bytes]).toEqual([undefined, 0]);
  });

  test.each([
    { share: 1.2, hits: 0.65 },
    { share: 2, hits: 0.18 },
  ])(
    'hits for $hits of the look-ups when $share times what fits is asked for in turns',
    ({ share, hits }) => {
      const cache = ofEntries(1_000);
      const keys = Array.from({ length: 1_000 * share }, (_, i) => `host${i}`);
      const missesOfTurn = () => {
        let misses = 0;
        for (const key of keys) {
          if (cache.get(key) !== undefined) continue;
          misses++;
          cache.set(key, 1);
        }
        return misses;
      };
      for (let i = 0; i < 9; i++) missesOfTurn();
      expect(1 - missesOfTurn() / keys.length).toBeGreaterThan(hits);
    },
  );

  test('an owner that sets new entries without end takes no entry of an owner below its share', () => {
    const cache = ofEntries(100);
    for (let i = 0; i < 40; i++) cache.set(String(i), i, 'quiet');
    for (let i = 0; i < 10_000; i++) cache.set(String(i), i, 'noisy');
    expect(held(cache, 'quiet', 40)).toBe(40);
    expect(held(cache, 'noisy', 10_000)).toBe(60);
  });

  test('one owner alone may take the whole cache, and gives room to those that come', () => {
    const cache = ofEntries(100);
    for (let i = 0; i < 200; i++) cache.set(String(i), i, 'a');
    expect(held(cache, 'a', 200)).toBe(100);
    for (let i = 0; i < 200; i++) cache.set(String(i), i, 'b');
    for (let i = 0; i < 20; i++) cache.set(String(i), i, 'c');
    expect(['a', 'b', 'c'].map((owner) => held(cache, owner, 200))).toEqual([40, 40, 20]);
  });

  test("forgets an entry after a lifetime, the cache's or the entry's own", async () => {
    const cache = ofEntries(10, 1);
    cache.set('short', 1);
    cache.set('long', 1, undefined, 1e9);
    await until(
      'ended',
      async () => cache.get('short'),
      (value) => value === undefined,
    );
    expect([cache.get('long'), cache.bytes]).toEqual([1, ENTRY_BYTES + 80]);
  });
});
