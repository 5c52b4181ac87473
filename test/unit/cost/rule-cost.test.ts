import { type MeasuredRules, rulesLine } from '../../../shared/cost/rule-cost';

describe('the cost of rules', () => {
  /** Each evaluation uses 1024 MB for 10 ms, and a tenth of a write unit. */
  const measured: MeasuredRules = {
    rules: 100,
    ticks: 2,
    units: { FunctionMbMs: 200 * 1024 * 10, WriteUnits: 20 },
  };

  test('is that of 43,800 evaluations of each rule a month', () => {
    const { dollars } = rulesLine(measured, 1000);
    const evaluations = 1000 * 730 * 60;
    const functionTime = evaluations * 0.01 * 0.0000133334;
    const writes = evaluations * 0.1 * 0.625e-6;
    const invocations = (evaluations / 100) * 0.2e-6;
    expect(dollars).toBeCloseTo(functionTime + writes + invocations, 6);
  });

  test('grows with the number of rules, and is given for a thousand if there are none', () => {
    const [none, thousand, million] = [0, 1000, 1_000_000].map((rules) => rulesLine(measured, rules));
    expect(none!.dollars).toBe(0);
    expect(none!.because).toContain(
      `1000 rules, evaluated each minute, cost $${thousand!.dollars.toFixed(2)}`,
    );
    expect(million!.dollars).toBeCloseTo(1000 * thousand!.dollars, 6);
  });
});
