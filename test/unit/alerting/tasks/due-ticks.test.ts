import { dueTicks } from '../../../../shared/alerting/tasks/due-ticks';

const MINUTE = 60;

/** Times are in seconds. `now` is 3 s after a minute has begun. */
test.each([
  { name: 'a new group begins with the newest tick', done: undefined, due: [6000] },
  { name: 'the next tick is due once it has begun', done: 5940, due: [6000] },
  { name: 'a tick that is done is not due again', done: 6000, due: [] },
  { name: 'a second trigger in the future of the first finds nothing', done: 6060, due: [] },
  { name: 'a tick of five minutes ahead is done, although the clock lags', done: 6300, due: [] },
  { name: 'a tick of six minutes ahead, from a wrong clock, holds up nothing', done: 6360, due: [6000] },
  { name: 'a tick of a day ahead holds up nothing either', done: 92_400, due: [6000] },
  { name: 'ticks that were missed are made up, the oldest first', done: 5760, due: [5820, 5880, 5940, 6000] },
  { name: 'half minutes are ticks too', interval: 30, done: 5940, due: [5970, 6000] },
  { name: 'a new interval begins with its next tick', interval: 300, done: 5640, due: [5700, 6000] },
  { name: 'a lag below the offset holds up nothing', lag: 30, done: 5940, due: [6000] },
  { name: 'a lag beyond the offset puts ticks off', lag: 60, done: 5880, due: [5940] },
  { name: 'a lag of minutes puts all off', lag: 300, done: 5880, due: [] },
  { name: 'an outage of an hour leaves no hole', done: 6003 - 3600 - 3, due: { from: 2460, count: 60 } },
  { name: 'ticks older than an hour are skipped', done: 0, due: { from: 2460, count: 60 }, skipped: 40 },
  { name: 'an interval of a day has its newest tick', interval: 86_400, done: -86_400, due: [0] },
])('$name', ({ interval = MINUTE, lag = 0, done, due, skipped = 0 }) => {
  const planned = dueTicks(
    { intervalMs: interval * 1000, queryOffsetMs: 30_000 },
    done === undefined ? undefined : done * 1000,
    { nowMs: 6_003_000, lagMs: lag * 1000 },
  );
  const expected = Array.isArray(due)
    ? due
    : Array.from({ length: due.count }, (_, i) => due.from + i * interval);
  expect(planned).toEqual({ ticks: expected.map((s) => s * 1000), skipped });
});

describe('while tenants post almost nothing', () => {
  const MINUTE_MS = 60_000;
  const group = { intervalMs: MINUTE_MS, queryOffsetMs: 30_000 };
  const ticksAt = (minute: number, quiet: { fromMs: number; toMs?: number }, doneMs?: number) =>
    dueTicks(group, doneMs, { nowMs: minute * MINUTE_MS + 1_000, lagMs: 0, quiet }).ticks.map(
      (tickMs) => tickMs / MINUTE_MS,
    );

  test('ticks that read samples of the quiet period are skipped, and later ticks are due', () => {
    const fromMs = 98 * MINUTE_MS;
    expect(ticksAt(100, { fromMs }, 96 * MINUTE_MS)).toEqual([97, 98]);
    expect(ticksAt(100, { fromMs })).toEqual([]);
    expect(ticksAt(106, { fromMs, toMs: 104 * MINUTE_MS }, 98 * MINUTE_MS)).toEqual([105, 106]);
  });
});
