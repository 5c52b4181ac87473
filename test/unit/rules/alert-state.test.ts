import fc from 'fast-check';
import { type Alert, RESOLVED_RETENTION_MS } from '../../../shared/alerting/delivery/alert';
import { labelsKey } from '../../../shared/model/labels';
import { type AlertTiming, advanceAlerts } from '../../../shared/rules/alert-state';

const MINUTE_MS = 60_000;

const found = (instance = 'a', value = 1) => ({
  labels: [
    ['alertname', 'A'],
    ['instance', instance],
  ] as const,
  annotations: [['summary', `value ${value}`]] as const,
  value,
});

/** Runs a rule over one tick a minute. A tick is given as the value that the rule finds, or undefined. */
function run(timing: AlertTiming, ticks: readonly (number | undefined)[]): (Alert | undefined)[] {
  let alerts: Alert[] = [];
  return ticks.map((value, i) => {
    alerts = advanceAlerts(alerts, value === undefined ? [] : [found('a', value)], i * MINUTE_MS, timing);
    expect(alerts.length).toBeLessThanOrEqual(1);
    return alerts[0];
  });
}

const states = (alerts: readonly (Alert | undefined)[]) =>
  alerts.map((alert) => alert?.state ?? '-').join(' ');

describe('an alert', () => {
  test.each([
    {
      name: 'fires at once without for',
      timing: { forMs: 0, keepFiringForMs: 0 },
      ticks: [1, 1, undefined],
      expected: 'firing firing resolved',
    },
    {
      name: 'is pending until for has passed',
      timing: { forMs: 2 * MINUTE_MS, keepFiringForMs: 0 },
      ticks: [1, 1, 1, 1],
      expected: 'pending pending firing firing',
    },
    {
      name: 'fires at the next tick when for is shorter than the interval',
      timing: { forMs: 15_000, keepFiringForMs: 0 },
      ticks: [1, 1],
      expected: 'pending firing',
    },
    {
      name: 'is forgotten when it ends while pending',
      timing: { forMs: 2 * MINUTE_MS, keepFiringForMs: 0 },
      ticks: [1, undefined, 1],
      expected: 'pending - pending',
    },
    {
      name: 'goes on firing for keep_firing_for, from the first tick without its element',
      timing: { forMs: MINUTE_MS, keepFiringForMs: MINUTE_MS },
      ticks: [75, 85, 70, 70, undefined, undefined, undefined],
      expected: 'pending firing firing firing firing resolved resolved',
    },
    {
      name: 'that is pending ends without keep_firing_for',
      timing: { forMs: MINUTE_MS, keepFiringForMs: MINUTE_MS },
      ticks: [75, undefined],
      expected: 'pending -',
    },
    {
      name: 'counts keep_firing_for anew after its element was back',
      timing: { forMs: 0, keepFiringForMs: 2 * MINUTE_MS },
      ticks: [1, undefined, 1, undefined, undefined, undefined],
      expected: 'firing firing firing firing firing resolved',
    },
    {
      name: 'starts anew when its element is back after it was resolved',
      timing: { forMs: MINUTE_MS, keepFiringForMs: 0 },
      ticks: [1, 1, undefined, 1, 1],
      expected: 'pending firing resolved pending firing',
    },
  ])('$name', ({ timing, ticks, expected }) => {
    expect(states(run(timing, ticks))).toBe(expected);
  });

  test('has the times of its transitions, and the newest value and annotations', () => {
    const timing = { forMs: MINUTE_MS, keepFiringForMs: 2 * MINUTE_MS };
    const alerts = run(timing, [1, 2, undefined, undefined, undefined]);
    expect(alerts[1]).toEqual({ ...found('a', 2), state: 'firing', activeAtMs: 0, firedAtMs: MINUTE_MS });
    expect(alerts[2]).toEqual({ ...alerts[1], keepFiringSinceMs: 2 * MINUTE_MS });
    expect(alerts[4]).toEqual({ ...alerts[1], state: 'resolved', resolvedAtMs: 4 * MINUTE_MS });
  });

  test('is remembered for 15 minutes after it was resolved', () => {
    const firing = advanceAlerts([], [found()], 0, { forMs: 0, keepFiringForMs: 0 });
    const timing = { forMs: 0, keepFiringForMs: 0 };
    const resolved = advanceAlerts(firing, [], MINUTE_MS, timing);
    expect(advanceAlerts(resolved, [], MINUTE_MS + RESOLVED_RETENTION_MS, timing)).toEqual(resolved);
    expect(advanceAlerts(resolved, [], MINUTE_MS + RESOLVED_RETENTION_MS + 1, timing)).toEqual([]);
  });

  test('is pending again when its rule gets a longer for', () => {
    const short = { forMs: 15_000, keepFiringForMs: 0 };
    const firing = advanceAlerts(advanceAlerts([], [found()], 0, short), [found()], 15_000, short);
    expect(firing).toMatchObject([{ state: 'firing', firedAtMs: 15_000 }]);
    const long = { forMs: 3_600_000, keepFiringForMs: 0 };
    const pending = advanceAlerts(firing, [found()], 30_000, long);
    expect(pending).toEqual([{ ...found(), state: 'pending', activeAtMs: 0 }]);
    expect(advanceAlerts(pending, [found()], 3_600_000, long)).toMatchObject([{ state: 'firing' }]);
  });

  test('that a tick of the future found waits only for `for` when ticks go on from now', () => {
    const timing = { forMs: MINUTE_MS, keepFiringForMs: 0 };
    const ahead = advanceAlerts([], [found()], 100 * MINUTE_MS, timing);
    const pending = advanceAlerts(ahead, [found()], MINUTE_MS, timing);
    expect(pending).toMatchObject([{ state: 'pending', activeAtMs: MINUTE_MS }]);
    expect(advanceAlerts(pending, [found()], 2 * MINUTE_MS, timing)).toMatchObject([{ state: 'firing' }]);
  });

  test('that a tick of the future resolved, or kept firing, does not stay until that time', () => {
    const timing = { forMs: 0, keepFiringForMs: MINUTE_MS };
    const firing = advanceAlerts([], [found()], 0, timing);
    const kept = advanceAlerts(firing, [], 100 * MINUTE_MS, timing);
    const resolved = advanceAlerts(kept, [], 101 * MINUTE_MS, timing);
    expect(resolved).toMatchObject([{ state: 'resolved' }]);
    for (const alerts of [kept, resolved])
      expect(
        advanceAlerts(advanceAlerts(alerts, [], MINUTE_MS, timing), [], 2 * MINUTE_MS, timing),
      ).toMatchObject([{ state: 'resolved', resolvedAtMs: alerts === kept ? 2 * MINUTE_MS : MINUTE_MS }]);
  });

  test('never depends on the other alerts of its rule', () => {
    const tick = fc.record({ a: fc.boolean(), b: fc.boolean() });
    const minutes = fc.integer({ min: 0, max: 3 });
    fc.assert(
      fc.property(fc.array(tick, { maxLength: 30 }), minutes, minutes, (ticks, hold, keep) => {
        const timing = { forMs: hold * MINUTE_MS, keepFiringForMs: keep * MINUTE_MS };
        let [both, alone]: Alert[][] = [[], []];
        for (const [i, { a, b }] of ticks.entries()) {
          const elements = [...(b ? [found('b')] : []), ...(a ? [found('a')] : [])];
          both = advanceAlerts(both!, elements, i * MINUTE_MS, timing);
          alone = advanceAlerts(alone!, a ? [found('a')] : [], i * MINUTE_MS, timing);
          const ofA = both.filter(({ labels }) => labelsKey(labels) === labelsKey(found('a').labels));
          expect(ofA).toEqual(alone);
          for (const alert of both)
            if (alert.state === 'firing')
              expect(i * MINUTE_MS - alert.activeAtMs).toBeGreaterThanOrEqual(timing.forMs);
        }
      }),
    );
  });
});
