import { equals } from '../../../shared/model/matcher';
import { explain } from '../../../shared/query/explain';
import type { SelectorResult } from '../../../shared/query/tier-samples';

const DAY = 86_400_000;
const nothing = { durationMs: 0, samples: 0, places: [] };
const place = { tier: 'cold' as const, place: 'k', samples: 90, matched: 40, extent: undefined };
const result: SelectorResult = {
  matchers: [equals('job', 'shop')],
  range: { fromMs: 0, toMs: 4 * DAY },
  grains: undefined,
  why: 'the range is shorter than 3 days',
  series: 2,
  rollupDays: 0,
  missingSinceMs: undefined,
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

test('the explanation has what each selector read from each tier, and what the query used', () => {
  const used = new Map([
    ['ReadUnits', 8],
    ['ObjectGets', 2],
    ['RedisCalls', 1],
    ['TableCalls', 3],
  ] as const);
  expect(explain([result], used)).toEqual({
    reads: [
      {
        selector: '{job="shop"}',
        from: 0,
        to: 345_600,
        series: 2,
        rounds: 2,
        rollupDays: 0,
        read: 'samples',
        why: 'the range is shorter than 3 days',
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
    tableCalls: 3,
    readUnits: 8,
    objectGets: 2,
    // 8 read units at $0.125 and 2 requests at $0.40 a million.
    dollars: expect.closeTo(1.8e-6, 12),
  });
});

test('tiers beyond memory are not asked when nothing has left it', () => {
  const tiers = { ...result.tiers, warm: nothing, cold: nothing };
  const [read] = explain([{ ...result, tiers, rounds: 0 }], new Map()).reads;
  const why = 'not read: nothing of the range has left memory';
  expect(read!.tiers).toMatchObject({ warm: { why }, cold: { why } });
  expect(read).toMatchObject({ readUnits: 0, objectGets: 0, dollars: 0 });
});

test('the explanation says which rollups were read, and why', () => {
  const grains = { grainMs: 3_600_000, use: 'sum' as const, edges: 'widened' as const };
  const why = 'max_source_resolution allows them';
  expect(explain([{ ...result, grains, why }], new Map()).reads).toEqual([
    expect.objectContaining({ read: 'rollups of 3600s', why }),
  ]);
});
