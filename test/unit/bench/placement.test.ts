import { placementRows } from '../../../scripts/bench/placement';

const options = { tenants: 50, series: 100_000, streamShards: 8, cacheShards: 2, skew: 1.3 };
const rowOf = (partitions: 'born' | 'advised', over: string, of = options) =>
  placementRows(of).find((row) => row.partitions === partitions && row.over === over)!;

test('a huge tenant overloads the shards of its first eight partitions, but not with the advised number', () => {
  const huge = { ...options, tenants: 1, series: 4_000_000, streamShards: 64 };
  const [born, advised] = [rowOf('born', 'stream shards', huge), rowOf('advised', 'stream shards', huge)];
  expect(born.partitionCount).toBe(8);
  expect(born.hottest).toBeGreaterThan(7);
  expect(advised.partitionCount).toBe(32);
  expect(advised.hottest).toBeLessThan(born.hottest / 3);
});

test('a shard has at least the mean, and no less than its hottest partition', () => {
  for (const { max, p99, hottest } of placementRows(options)) {
    expect(max).toBeGreaterThanOrEqual(1);
    expect(max).toBeGreaterThanOrEqual(p99);
    expect(max).toBeGreaterThanOrEqual(hottest);
  }
});

test('the placement of the same tenants is deterministic', () => {
  expect(placementRows(options)).toEqual(placementRows(options));
});
