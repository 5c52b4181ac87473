import { FairCache } from '../../../shared/model/fair-cache';
import { until } from '../../support/until';

const entries = (cache: FairCache<object>, owner: string, count: number) =>
  Array.from({ length: count }, (_, i) => cache.get(owner, String(i))).filter((each) => each !== undefined)
    .length;

test('an owner that sets ever new entries takes no entry of one below its share', () => {
  const cache = new FairCache<object>({ maxSize: 100 });
  for (let i = 0; i < 40; i++) cache.set('quiet', String(i), {});
  for (let i = 0; i < 10_000; i++) cache.set('noisy', String(i), {});
  expect(entries(cache, 'quiet', 40)).toBe(40);
  expect([cache.size, cache.sizeOf('noisy')]).toEqual([100, 60]);
});

test('one owner alone may take the whole cache, and gives room to those that come', () => {
  const cache = new FairCache<object>({ maxSize: 100 });
  for (let i = 0; i < 200; i++) cache.set('a', String(i), {});
  expect(cache.sizeOf('a')).toBe(100);
  for (let i = 0; i < 200; i++) cache.set('b', String(i), {});
  for (let i = 0; i < 20; i++) cache.set('c', String(i), {});
  expect(['a', 'b', 'c'].map((owner) => cache.sizeOf(owner))).toEqual([40, 40, 20]);
});

test('of an owner, the least recently used entry goes first', () => {
  const cache = new FairCache<object>({ maxSize: 3 });
  for (const key of ['0', '1', '2']) cache.set('a', key, {});
  cache.get('a', '0');
  cache.set('a', '3', {});
  expect(['0', '1', '2', '3'].map((key) => cache.get('a', key) !== undefined)).toEqual([
    true,
    false,
    true,
    true,
  ]);
});

test('sizes are counted, and an entry beyond the whole cache replaces the old one by nothing', () => {
  const cache = new FairCache<Set<number>>({ maxSize: 10, sizeOf: ({ size }) => size });
  cache.set('a', 'x', new Set([1, 2, 3]));
  cache.set('b', 'x', new Set([1, 2]));
  expect(cache.size).toBe(5);
  cache.set('a', 'x', new Set(Array.from({ length: 11 }, (_, i) => i)));
  expect([cache.get('a', 'x'), cache.size]).toEqual([undefined, 2]);
  cache.set('b', 'x', new Set([1]));
  expect(cache.size).toBe(1);
});

test('an entry ends with its life', async () => {
  const cache = new FairCache<object>({ maxSize: 10, ttlMs: 1 });
  cache.set('a', 'short', {});
  await until(
    'ended',
    async () => cache.get('a', 'short'),
    (value) => value === undefined,
  );
  expect(cache.size).toBe(0);
});
