import { residencyOf } from '../../../shared/flush/residency';
import { groupDelayMs } from '../../../shared/hot/group-delay';
import { groupIdOf } from '../../../shared/model/placement';

const MINUTE_MS = 60_000;

describe('how long a group-window stays in memory', () => {
  const stage = { window: 60 * MINUTE_MS, flushDelay: 31 * MINUTE_MS };
  test.each([
    { fullness: 0, expected: { leastMs: 61 * MINUTE_MS, spreadMs: 30 * MINUTE_MS } },
    { fullness: 0.7, expected: { leastMs: 61 * MINUTE_MS, spreadMs: 30 * MINUTE_MS } },
    { fullness: 0.775, expected: { leastMs: 30.5 * MINUTE_MS, spreadMs: 15 * MINUTE_MS } },
    { fullness: 0.85, expected: { leastMs: 0, spreadMs: 0 } },
    { fullness: 1, expected: { leastMs: 0, spreadMs: 0 } },
  ])('at $fullness of memory', ({ fullness, expected }) => {
    expect(residencyOf(stage, fullness)).toEqual(expected);
  });

  test('a flush delay below a minute is everyone’s', () => {
    expect(residencyOf({ window: 10_000, flushDelay: 1_000 }, 0)).toEqual({ leastMs: 11_000, spreadMs: 0 });
  });

  test('a group’s delay is always the same, below the longest, and differs from its neighbours’', () => {
    const groups = Array.from({ length: 1000 }, (_, i) => groupIdOf('A'.repeat(22), 10, i));
    const delays = groups.map((group) => groupDelayMs(group, 1000));
    expect(groups.map((group) => groupDelayMs(group, 1000))).toEqual(delays);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...delays)).toBeLessThan(1000);
    expect(new Set(delays).size).toBeGreaterThan(500);
    expect(groups.map((group) => groupDelayMs(group, 0))).toEqual(groups.map(() => 0));
  });
});
