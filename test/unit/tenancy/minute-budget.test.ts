import fc from 'fast-check';
import { MinuteBudget } from '../../../shared/tenancy/minute-budget';

const NOON = Date.UTC(2026, 10, 21, 12);

describe('the budget of a minute', () => {
  test('admits requests while less than the limit is used, and then says how long to wait', () => {
    const budget = new MinuteBudget();
    expect(budget.waitMs(NOON + 15_000, 100)).toBe(0);
    budget.use(NOON + 15_000, 99);
    expect(budget.waitMs(NOON + 15_000, 100)).toBe(0);
    budget.use(NOON + 15_000, 500);
    expect(budget.waitMs(NOON + 15_000, 100)).toBe(45_000);
    expect(budget.waitMs(NOON + 59_999, 100)).toBe(1);
    expect(budget.waitMs(NOON + 60_000, 100)).toBe(0);
  });

  test('admits nothing if the limit is 0', () => {
    expect(new MinuteBudget().waitMs(NOON, 0)).toBe(60_000);
  });

  test.each([
    { name: 'at once, the first time', used: 1, before: 0, afterMs: 0, isDue: true },
    { name: 'after 15 s, far from the limit', used: 40, before: 1, afterMs: 15_000, isDue: true },
    { name: 'not earlier', used: 40, before: 1, afterMs: 14_999, isDue: false },
    { name: 'after 2 s, from half of the limit on', used: 50, before: 1, afterMs: 2_000, isDue: true },
    { name: 'not earlier', used: 50, before: 1, afterMs: 1_999, isDue: false },
    { name: 'never, when nothing was used since', used: 0, before: 1, afterMs: 20_000, isDue: false },
  ])('is exchanged $name', ({ used, before, afterMs, isDue }) => {
    const budget = new MinuteBudget();
    budget.use(NOON, before);
    const first = budget.due(NOON, 100);
    if (first !== undefined) budget.noteExchange(first, before);
    budget.use(NOON + 1, used);
    expect(budget.due(NOON + afterMs, 100) !== undefined).toBe(isDue);
  });

  test('is exchanged often in the minute after one that was used up', () => {
    const budget = new MinuteBudget();
    budget.use(NOON + 59_000, 100);
    budget.noteExchange(budget.due(NOON + 59_000, 100)!, 100);
    budget.use(NOON + 60_500, 1);
    expect(budget.due(NOON + 61_000, 100)).toBeDefined();
  });

  test('an answer that comes in the next minute is ignored', () => {
    const budget = new MinuteBudget();
    budget.use(NOON, 10);
    const unsent = budget.due(NOON, 100)!;
    budget.use(NOON + 60_000, 1);
    budget.noteExchange(unsent, 1_000_000);
    expect(budget.waitMs(NOON + 60_000, 100)).toBe(0);
  });

  test('many instances admit at least the limit, and exceed it by at most what comes between two exchanges', () => {
    const LIMIT = 1000;
    const request = fc.record({ instance: fc.nat({ max: 4 }), gapMs: fc.nat({ max: 40 }) });
    fc.assert(
      fc.property(fc.array(request, { minLength: 100, maxLength: 3000 }), (requests) => {
        const instances = Array.from({ length: 5 }, () => new MinuteBudget());
        let total = 0;
        let letIn = 0;
        let nowMs = NOON;
        const arrivals: number[] = [];
        for (const { instance, gapMs } of requests) {
          nowMs += gapMs;
          if (nowMs >= NOON + 60_000) break;
          arrivals.push(nowMs);
          const budget = instances[instance]!;
          if (budget.waitMs(nowMs, LIMIT) === 0) {
            budget.use(nowMs, 1);
            letIn++;
          }
          const unsent = budget.due(nowMs, LIMIT);
          if (unsent !== undefined) {
            total += unsent.amount;
            budget.noteExchange(unsent, total);
          }
        }
        // The span is 15 s, because only an exchange tells an instance that half of the limit is used.
        const busiest = Math.max(
          ...arrivals.map((at) => arrivals.filter((t) => t >= at && t < at + 15_000).length),
        );
        expect(letIn).toBeGreaterThanOrEqual(Math.min(LIMIT, arrivals.length));
        expect(letIn).toBeLessThanOrEqual(LIMIT + busiest);
      }),
      { numRuns: 50 },
    );
  });
});
