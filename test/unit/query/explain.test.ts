import { equals } from '../../../shared/model/matcher';
import { explain } from '../../../shared/query/explain';
import type { SelectorReading } from '../../../shared/query/tier-samples';

const DAY = 86_400_000;
const nothing = { durationMs: 0, samples: 0, places: [] };
const place = { tier: 'cold' as const, place: 'k', samples: 90, matched: 40, span: undefined };
const reading: SelectorReading = {
  matchers: [equals('job', 'shop')],
  range: { fromMs: 0, toMs: 4 * DAY },
  grains: undefined,
  series: 2,
  rolledDays: 0,
  rounds: 2,
  tiers: {
    hot: nothing,
    warm: {
      ...nothing,
      samples: 7,
      places: [4096, 4097].map((bytes) => ({ ...place, tier: 'warm' as const, bytes })),
    },
    cold: { durationMs: 1, samples: 80, places: [1000, 24].map((bytes) => ({ ...place, bytes })) },
  },
};
const allowed = { grainMs: 3_600_000, leastRangeMs: 3 * DAY };

test('the explanation has what each selector read from each tier, and what the query used', () => {
  const used = new Map([
    ['ReadUnits', 8],
    ['ObjectGets', 2],
    ['RedisCalls', 1],
  ] as const);
  expect(explain([reading], undefined, used)).toEqual({
    reads: [
      {
        ...{ selector: '{job="shop"}', from: 0, to: 345_600, series: 2, rounds: 2, rollupDays: 0 },
        ...{ read: 'samples', why: 'max_source_resolution allows no stored rollup' },
        tiers: {
          hot: { samples: 0, places: 0, bytes: 0, why: 'memory has no samples of the range' },
          warm: { samples: 7, places: 2, bytes: 8193, why: 'windows have left memory' },
          cold: { samples: 80, places: 2, bytes: 1024, why: 'days are archived' },
        },
        // One unit for 4,096 bytes, two for 4,097.
        readUnits: 3,
        objectGets: 2,
        dollars: expect.closeTo(1.175e-6, 12),
      },
    ],
    memoryCalls: 1,
    readUnits: 8,
    objectGets: 2,
    // 8 read units at $0.125 and 2 requests at $0.40 a million.
    dollars: expect.closeTo(1.8e-6, 12),
  });
});

test('tiers behind memory are not asked when nothing has left it', () => {
  const tiers = { ...reading.tiers, warm: nothing, cold: nothing };
  const [read] = explain([{ ...reading, tiers, rounds: 0 }], undefined, new Map()).reads;
  const why = 'not asked: nothing of the range has left memory';
  expect(read!.tiers).toMatchObject({ warm: { why }, cold: { why } });
  expect(read).toMatchObject({ readUnits: 0, objectGets: 0, dollars: 0 });
});

test.each([
  {
    ...{ grains: { grainMs: 3_600_000, aggregate: 'sum' as const }, days: 4 },
    ...{ read: 'rollups of 3600s', why: 'max_source_resolution allows them' },
  },
  { grains: undefined, days: 2, read: 'samples', why: 'the range is shorter than 3 days' },
  {
    ...{ grains: undefined, days: 4, read: 'samples' },
    why: 'what the expression does with the selector needs samples',
  },
])('$read of $days days: $why', ({ grains, days, read, why }) => {
  const range = { fromMs: 0, toMs: days * DAY };
  expect(explain([{ ...reading, grains, range }], allowed, new Map()).reads).toEqual([
    expect.objectContaining({ read, why }),
  ]);
});
