import { historyOf, LAGS_S, planTimes } from '../../../scripts/soak/times';
import { isExpired } from '../../../shared/archive/retention';
import { DAY_MS } from '../../../shared/model/duration';
import { dayOf } from '../../../shared/model/placement';
import { clampRange } from '../../../shared/query/plan';

const NOW_MS = Date.UTC(2026, 10, 22, 10, 17, 3, 5);
const HOUR_MS = 3_600_000;
const MINUTES_MS = 10 * 60_000;

describe("the times of a soak's samples", () => {
  const times = planTimes(NOW_MS, MINUTES_MS);
  const { boundaryS, expiresAtMs, retentionMs } = times;
  const history = historyOf(times, NOW_MS / 1000);

  test('end a day in the middle of the load, for reads and for an archiver an hour ahead', () => {
    expect(expiresAtMs - NOW_MS).toBeGreaterThan(MINUTES_MS / 2);
    expect(expiresAtMs - NOW_MS).toBeLessThan(MINUTES_MS);
    const all = { fromMs: 0, toMs: NOW_MS };
    const last = dayOf(boundaryS * 1000 - DAY_MS);
    for (const [nowMs, fromMs, isRemoved] of [
      [expiresAtMs - 1, boundaryS * 1000 - DAY_MS, false],
      [expiresAtMs, boundaryS * 1000, true],
    ] as const) {
      expect(clampRange(all, nowMs, retentionMs).fromMs).toBe(fromMs);
      expect(isExpired(last, nowMs + HOUR_MS, retentionMs)).toBe(isRemoved);
    }
  });

  test('lie in many days, in the oldest of which imports still take them, and around its end', () => {
    expect(new Set(history.map((time) => Math.floor((time * 1000) / DAY_MS))).size).toBeGreaterThan(9);
    expect(history.filter((time) => time < boundaryS).length).toBeGreaterThan(2);
    expect(history).toContain(boundaryS);
    expect(history[0]! * 1000).toBeGreaterThan(NOW_MS + 10_000 - retentionMs);
    expect(Math.max(...LAGS_S)).toBeLessThan((25 * DAY_MS) / 1000);
  });
});
