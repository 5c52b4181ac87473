import fc from 'fast-check';
import { BoundedCache } from '../../../shared/model/bounded-cache';

describe('a bounded cache', () => {
  test('is a map that forgets, and never holds more than its bytes', () => {
    const step = fc.tuple(fc.constantFrom('set', 'delete'), fc.integer({ min: 0, max: 50 }), fc.nat(3_000));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const cache = new BoundedCache<number>(10_000, (bytes) => bytes);
        const map = new Map<string, number>();
        for (const [what, key, bytes] of steps) {
          if (what === 'set') {
            cache.set(`${key}`, bytes);
            map.set(`${key}`, bytes);
            expect(cache.get(`${key}`)).toBe(bytes);
          } else {
            cache.delete(`${key}`);
            map.delete(`${key}`);
          }
          expect(cache.bytes).toBeLessThanOrEqual(10_000);
        }
        const held = [...map].filter(([key]) => cache.get(key) !== undefined);
        expect(held.map(([key]) => cache.get(key))).toEqual(held.map(([, bytes]) => bytes));
        expect(cache.size).toBe(held.length);
      }),
    );
  });

  test('does not keep an entry larger than itself', () => {
    const cache = new BoundedCache<number>(1_000, (bytes) => bytes);
    cache.set('a', 5_000);
    expect(cache.get('a')).toBeUndefined();
  });

  test.each([
    { share: 1.2, hits: 0.65 },
    { share: 2, hits: 0.18 },
  ])('asked in turns for $share times what fits, hits for $hits of it', ({ share, hits }) => {
    const cache = new BoundedCache<number>(1_120_000, () => 1_000);
    const keys = Array.from({ length: 1_000 * share }, (_, i) => `host${i}`);
    let found = 0;
    for (let turn = 0; turn < 10; turn++) {
      found = 0;
      for (const key of keys) {
        if (cache.get(key) === undefined) cache.set(key, 1);
        else found++;
      }
    }
    expect(found / keys.length).toBeGreaterThan(hits);
  });
});
