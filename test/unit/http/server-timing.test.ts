import { serverTiming } from '../../../shared/http/server-timing';

type Stats = Parameters<typeof serverTiming>[0][number];
type TierStats = Stats['tiers']['hot'];

const RANGE = { fromMs: 0, toMs: 10_000_000 };
const NOTHING = { durationMs: 0, samples: 0, places: [] } as unknown as TierStats;
const partOf = (
  durationMs: number,
  samples: number,
  ...spans: [matched: number, firstMs: number, lastMs: number][]
) =>
  ({
    durationMs,
    samples,
    places: spans.map(([matched, firstMs, lastMs]) => ({ matched, extent: { firstMs, lastMs } })),
  }) as unknown as TierStats;
const statsOf = (tiers: Partial<Stats['tiers']>, rollupDays = 0): Stats => ({
  rollupDays,
  tiers: { hot: NOTHING, warm: NOTHING, cold: NOTHING, ...tiers },
});

test('the header adds up what consecutive reads took and found in each tier', () => {
  const reads = [
    statsOf({ hot: partOf(1.25, 3, [3, 9_000_500, 9_900_999]), warm: partOf(2, 5, [5, 0, 999_000]) }, 2),
    statsOf({ warm: partOf(0.5, 7, [7, 5_000_000, 6_000_000]) }, 1),
  ];
  expect(serverTiming(reads, RANGE, 40).split(', ')).toEqual([
    'hot;dur=1.3;desc="3 samples";spans="9000-9900"',
    'warm;dur=2.5;desc="12 samples";spans="0-999 5000-6000"',
    'cold;dur=0.0;desc="0 samples";spans=""',
    'rollup;desc="3 days"',
    'governor;dur=40',
  ]);
});

test('places without a matching sample have no span, and rollups and the governor appear only if they took part', () => {
  const header = serverTiming([statsOf({ cold: partOf(1, 0, [0, 0, 5_000_000]) })], RANGE, 0);
  expect(header).toContain('cold;dur=1.0;desc="0 samples";spans=""');
  expect(header).not.toMatch(/rollup|governor/);
});
