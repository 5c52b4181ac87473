import { residencyOf } from '../../../shared/flush/residency';

const MINUTE_MS = 60_000;

describe('how long a group-window stays in memory', () => {
  const stage = { window: 60 * MINUTE_MS, flushDelay: 30 * MINUTE_MS };
  test.each([
    { fullness: 0, expected: { leastMs: 60 * MINUTE_MS, flushDelayMs: 30 * MINUTE_MS } },
    { fullness: 0.7, expected: { leastMs: 60 * MINUTE_MS, flushDelayMs: 30 * MINUTE_MS } },
    { fullness: 0.775, expected: { leastMs: 30 * MINUTE_MS, flushDelayMs: 15 * MINUTE_MS } },
    { fullness: 0.85, expected: { leastMs: 0, flushDelayMs: 0 } },
    { fullness: 1, expected: { leastMs: 0, flushDelayMs: 0 } },
  ])('at $fullness of memory', ({ fullness, expected }) => {
    expect(residencyOf(stage, fullness)).toEqual(expected);
  });
});
