import { FAULT_KINDS, planFaults } from '../../../scripts/soak/plan';

const MINUTE_MS = 60_000;

describe('the plan of a soak', () => {
  test('is the same for the same seed, and differs for another', () => {
    expect(planFaults(7, 2 * MINUTE_MS)).toEqual(planFaults(7, 2 * MINUTE_MS));
    expect(planFaults(7, 2 * MINUTE_MS)).not.toEqual(planFaults(8, 2 * MINUTE_MS));
  });

  test.each([
    { name: 'two minutes', minutes: 2, atLeast: FAULT_KINDS.length },
    { name: 'half an hour', minutes: 30, atLeast: 200 },
  ])('has every kind of fault in $name, all of them begun in time', ({ minutes, atLeast }) => {
    const plan = planFaults(1, minutes * MINUTE_MS);
    expect(plan.length).toBeGreaterThanOrEqual(atLeast);
    expect(new Set(plan.map(({ kind }) => kind)).size).toBe(FAULT_KINDS.length);
    for (const { atMs, durationMs } of plan) {
      expect(atMs).toBeLessThan(minutes * MINUTE_MS);
      expect(durationMs).toBeGreaterThan(0);
    }
  });
});
