import { advisePartitions, type BusiestDay } from '../../../shared/cost/partition-advice';
import { MAX_PARTITIONS } from '../../../shared/model/placement';

const DAY_S = 86_400;
const GB = 1e9;
/** A day whose busiest second, four times the mean, has `peakBytes` bytes. */
const day = (peakBytes: number, warmGb = 0): BusiestDay => ({
  streamBytes: (peakBytes / 4) * DAY_S,
  warmBytesWritten: warmGb * GB,
});

test.each<{ name: string; partitions: number; busiest?: BusiestDay; advised: number; because: string }>([
  { name: 'a tenant without usage stays', partitions: 8, advised: 8, because: 'nothing was posted' },
  {
    name: 'an eighth of a shard for each partition is enough',
    partitions: 8,
    busiest: day(1_000_000),
    advised: 8,
    because: '1 M bytes a second at the peak',
  },
  {
    name: 'beyond it a tenant doubles',
    partitions: 8,
    busiest: day(1_000_001),
    advised: 16,
    because: '1 M bytes a second at the peak',
  },
  {
    name: 'it grows further under more load',
    partitions: 8,
    busiest: day(6_000_000),
    advised: 64,
    because: '6 M bytes a second at the peak',
  },
  {
    name: 'it grows to the maximum',
    partitions: 8,
    busiest: day(1e12),
    advised: MAX_PARTITIONS,
    because: '1000 billion bytes a second at the peak',
  },
  {
    name: 'objects of a day stay below 64 MiB',
    partitions: 8,
    busiest: day(1000, 1),
    advised: 16,
    because: '1 billion bytes to archive a day',
  },
  {
    name: 'a number that is no power of two grows to one',
    partitions: 12,
    busiest: day(2_000_000),
    advised: 16,
    because: '2 M bytes a second at the peak',
  },
  {
    name: 'four times too many stay',
    partitions: 64,
    busiest: day(2_000_000),
    advised: 64,
    because: '2 M bytes a second at the peak',
  },
  {
    name: 'eight times too many shrink to twice what is enough',
    partitions: 64,
    busiest: day(1_000_000),
    advised: 16,
    because: '1 M bytes a second at the peak',
  },
  {
    name: 'a tenant with little data needs two',
    partitions: 8,
    busiest: day(10),
    advised: 2,
    because: '10 bytes a second at the peak',
  },
  {
    name: 'a tenant with little data keeps two',
    partitions: 2,
    busiest: day(10),
    advised: 2,
    because: '10 bytes a second at the peak',
  },
])('$name', ({ partitions, busiest, advised, because }) => {
  expect(advisePartitions(partitions, busiest)).toEqual({ advised, because });
  // When the advice was followed, it does not change.
  expect(advisePartitions(advised, busiest).advised).toBe(advised);
});
