import fc from 'fast-check';
import { shareOf, ticksOf, valueRange } from '../../../functions/page/browser/graphs/ticks';
import type { GraphUnit } from '../../../shared/registry/graph-units';

const labelsOf = (min: number, max: number, unit: GraphUnit, isArea = false) =>
  ticksOf(valueRange(min, max, isArea, unit), 5, unit).labels.join(' ');

describe('the labels of a vertical axis', () => {
  test.each([
    { name: 'have as many digits as tell them apart', of: [2.7, 2.75], labels: '2.70 2.72 2.74' },
    {
      name: 'have no prefix that would hide differences',
      of: [-1_000_000.04, -1_000_000],
      labels: '-1000000.04 -1000000.03 -1000000.02 -1000000.01 -1000000.00',
    },
    { name: 'have a prefix where it leaves few digits', of: [1.5e6, 3.2e6], labels: '1.5M 2.0M 2.5M 3.0M' },
    {
      name: 'have an exponent beyond the prefixes',
      of: [1e300, 3e300],
      labels: '1.0e300 1.5e300 2.0e300 2.5e300 3.0e300',
    },
    { name: 'reach over the whole of float64', of: [-1.7e308, 1.7e308], labels: '-1e308 0 1e308' },
    { name: 'have an exponent for tiny values', of: [3e-7, 9e-7], labels: '4e-7 6e-7 8e-7' },
    {
      name: 'of seconds have smaller units',
      unit: 'seconds',
      of: [3e-7, 9e-7],
      labels: '400 ns 600 ns 800 ns',
    },
    {
      name: 'of bytes are round in the unit that is written',
      unit: 'bytes',
      of: [2e9, 4e9],
      labels: '2.0 GiB 2.5 GiB 3.0 GiB 3.5 GiB',
    },
    { name: 'of no bytes are whole', unit: 'bytes', of: [0, 0], labels: '0 B 1 B' },
    { name: 'of few bytes a second are whole', unit: 'bytes/sec', of: [0, 0.4], labels: '0 B/s 1 B/s' },
    { name: 'of one byte stand around it', unit: 'bytes', of: [1, 1], labels: '0 B 1 B 2 B' },
    { name: 'of integers are whole', unit: 'integer', of: [2, 3.4], labels: '1 2 3 4' },
    { name: 'of a constant stand around it', of: [5, 5], labels: '4.6 4.8 5.0 5.2 5.4' },
    { name: 'of nothing but zero', of: [0, 0], labels: '0 0.2 0.4 0.6 0.8 1.0' },
    { name: 'of no samples', of: [Number.NaN, Number.NaN], labels: '0 0.2 0.4 0.6 0.8 1.0' },
    {
      name: 'of shares that fill up are 0 to 100',
      unit: 'percentage',
      isArea: true,
      of: [20, 99],
      labels: '0% 20% 40% 60% 80% 100%',
    },
  ] as const)('$name: $labels', ({ of: [min, max], labels, ...rest }) => {
    const { unit = 'float', isArea = false } = rest as { unit?: GraphUnit; isArea?: boolean };
    expect(labelsOf(min, max, unit, isArea)).toBe(labels);
  });

  const unit = fc.constantFrom<GraphUnit[]>(
    'float',
    'percentage',
    'seconds',
    'milliseconds',
    'integer',
    'bytes',
    'bytes/sec',
    'bits/sec',
    'iops',
  );
  const finite = fc.double({ noNaN: true, noDefaultInfinity: true });

  test('differ from each other, ascend, and are within the axis, whatever the values', () => {
    fc.assert(
      fc.property(finite, finite, fc.boolean(), unit, (a, b, isArea, of) => {
        const [min, max] = [Math.min(a, b), Math.max(a, b)];
        const range = valueRange(min, max, isArea, of);
        const { values, labels } = ticksOf(range, 5, of);
        expect(values.length).toBeGreaterThan(0);
        expect(values.length).toBeLessThanOrEqual(6);
        expect(new Set(labels).size).toBe(labels.length);
        expect(labels.filter((label) => /NaN|Infinity|undefined/.test(label))).toEqual([]);
        expect([...values].sort((x, y) => x - y)).toEqual(values);
        for (const value of [...values, min, max]) {
          const share = shareOf(value, range);
          expect(share).toBeGreaterThanOrEqual(-0.01);
          expect(share).toBeLessThanOrEqual(1.01);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('differ where values nearly agree', () => {
    fc.assert(
      fc.property(finite, fc.integer({ min: -15, max: 0 }), unit, (value, power, of) => {
        const range = valueRange(value, value + Math.abs(value) * 10 ** power, false, of);
        const { labels } = ticksOf(range, 5, of);
        expect(new Set(labels).size).toBe(labels.length);
      }),
    );
  });
});
