import { ageSeconds, planReadBacks, valueAt } from '../../../shared/operations/canary-plan';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const settings = { residencyMs: 70 * 60_000, archiveAfterMs: 2 * DAY_MS };
const at = (text: string) => Date.parse(`2026-11-21T${text}Z`);
const old = Date.parse('2026-01-01T00:00:00Z');

test.each([
  { name: 'in most minutes only from memory', time: '10:07:30', tiers: ['hot'] },
  { name: 'every ten minutes from the warm tier', time: '10:10:30', tiers: ['hot', 'warm'] },
  { name: 'once an hour from the archive', time: '10:05:30', tiers: ['hot', 'cold'] },
])('the canary reads back $name', ({ time, tiers }) => {
  expect(planReadBacks(at(time), old, settings).map(({ tier }) => tier)).toEqual(tiers);
});

test('the canary expects samples in the warm tier an hour after they left memory', () => {
  const now = at('10:10:00');
  const [, warm] = planReadBacks(now, old, settings);
  expect(now - warm!.toMs).toBe(settings.residencyMs + HOUR_MS);
});

test.each(['00:05:00', '03:05:00', '04:05:00', '23:05:00'])(
  'at %s, what it reads back from the archive is of a day that ended four hours before the archiver was due at the latest',
  (time) => {
    const now = at(time);
    const cold = planReadBacks(now, old, settings).find(({ tier }) => tier === 'cold')!;
    expect(cold.toMs % DAY_MS).toBe(0);
    expect(now - cold.toMs).toBeGreaterThanOrEqual(settings.archiveAfterMs + 4 * HOUR_MS);
    expect(now - cold.toMs).toBeLessThan(settings.archiveAfterMs + 4 * HOUR_MS + DAY_MS);
  },
);

test('a canary expects no samples from before it was created', () => {
  const now = at('10:10:00');
  expect(planReadBacks(now, now - HOUR_MS, settings).map(({ isExpected }) => isExpected)).toEqual([
    true,
    false,
  ]);
});

test('values of neighbouring minutes differ, and an age is never negative', () => {
  expect(valueAt(60_000)).not.toBe(valueAt(120_000));
  expect(ageSeconds(1000, 5000)).toBe(0);
  expect(ageSeconds(61_000, 1000)).toBe(60);
});
