import { bytesInMonth, estimateCost } from '../../../shared/operations/usage-cost';
import { COUNTERS, type Counter } from '../../../shared/tenancy/counters';

const nothing = Object.fromEntries(COUNTERS.map((name) => [name, 0])) as Record<Counter, number>;
const empty = { hot: 0, warm: 0, cold: 0 };

/** Cost of each line that is not free, in dollars rounded to cents. */
const cents = (usage: Partial<Parameters<typeof estimateCost>[0]>) =>
  Object.fromEntries(
    estimateCost({ counts: nothing, bytes: empty, share: 1, memoryCopies: 2, ...usage })
      .filter(({ dollars }) => dollars > 0)
      .map(({ what, dollars }) => [what, Math.round(dollars * 100)]),
  );

describe('the estimated cost of a month', () => {
  test.each([
    {
      name: 'of a million requests of 20 ms with 1 GB: a dollar, 20 cents, 27 cents',
      usage: { counts: { ...nothing, requests: 1e6, functionMbMs: 1e6 * 20 * 1024 } },
      lines: { 'API requests': 100, 'function calls': 20, 'function time': 27 },
    },
    {
      name: 'of 100 GB in 10 million units through the stream: 28 full shard-hours',
      usage: { counts: { ...nothing, streamBytes: 1e11, streamUnits: 1e7 } },
      lines: { 'stream puts': 14, 'stream shards': 97 },
    },
    {
      name: 'of 10 million warm items of 1.5 KB: two write units each',
      usage: { counts: { ...nothing, warmItemsWritten: 1e7, warmBytesWritten: 1e7 * 1536 } },
      lines: { 'warm writes': 1250 },
    },
    {
      name: 'of 1 GB in memory, twice, 10 GB warm and 100 GB archived, for half a month',
      usage: { bytes: { hot: 1e9, warm: 1e10, cold: 1e11 }, share: 0.5 },
      lines: { memory: 1928, 'warm storage': 125, 'archive storage': 115 },
    },
    { name: 'of nothing: nothing', usage: {}, lines: {} },
  ])('$name', ({ usage, lines }) => {
    expect(cents(usage)).toEqual(lines);
  });

  test('is explained line by line', () => {
    for (const { because } of estimateCost({ counts: nothing, bytes: empty, share: 1, memoryCopies: 1 }))
      expect(because).toMatch(/\$\d/);
  });
});

describe('the bytes charged in a month', () => {
  const now = { hot: 1, warm: 2, cold: 3 };

  test.each([
    { name: 'with samples: all', samples: 9, firstDay: '2026-01-01', bytes: now },
    { name: 'with samples, the first of all: all', samples: 9, firstDay: '2026-10-31', bytes: now },
    {
      name: 'without samples, after others: what stays, which memory does not',
      samples: 0,
      firstDay: '2026-01-01',
      bytes: { hot: 0, warm: 2, cold: 3 },
    },
    { name: 'before the first sample: none', samples: 0, firstDay: '2026-11-01', bytes: empty },
    { name: 'of a tenant that has never posted: none', samples: 0, firstDay: undefined, bytes: empty },
  ])('$name', ({ samples, firstDay, bytes }) => {
    expect(bytesInMonth(now, '2026-10', samples, firstDay)).toEqual(bytes);
  });
});
