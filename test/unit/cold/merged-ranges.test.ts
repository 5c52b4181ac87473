import fc from 'fast-check';
import { mergeRanges } from '../../../shared/cold/merged-ranges';

const KB = 1024;

test.each<{
  name: string;
  ranges: [offset: number, length: number][];
  merged: [offset: number, length: number][];
}>([
  { name: 'nothing', ranges: [], merged: [] },
  { name: 'one range', ranges: [[5, 10]], merged: [[5, 10]] },
  {
    name: 'ranges that touch, in any order',
    ranges: [
      [15, 10],
      [5, 10],
    ],
    merged: [[5, 20]],
  },
  {
    name: 'ranges with a hole of 64 KB between them',
    ranges: [
      [0, 10],
      [10 + 64 * KB, 10],
    ],
    merged: [[0, 20 + 64 * KB]],
  },
  {
    name: 'not ranges with a larger hole',
    ranges: [
      [0, 10],
      [11 + 64 * KB, 10],
    ],
    merged: [
      [0, 10],
      [11 + 64 * KB, 10],
    ],
  },
  {
    name: 'a range within another',
    ranges: [
      [0, 100],
      [10, 5],
    ],
    merged: [[0, 100]],
  },
  {
    name: 'not beyond a MB, unless one range is longer',
    ranges: [
      [0, 1024 * KB],
      [1024 * KB, 5000 * KB],
    ],
    merged: [
      [0, 1024 * KB],
      [1024 * KB, 5000 * KB],
    ],
  },
])('merges $name', ({ ranges, merged }) => {
  const toRange = ([offset, length]: [number, number]) => ({ offset, length });
  expect(mergeRanges(ranges.map(toRange)).merged).toEqual(merged.map(toRange));
});

test('each range lies within the merged range that its index names', () => {
  const range = fc.record({ offset: fc.nat(20_000_000), length: fc.nat(2_000_000) });
  fc.assert(
    fc.property(fc.array(range), (ranges) => {
      const { merged, indexes } = mergeRanges(ranges);
      for (const [i, { offset, length }] of ranges.entries()) {
        const whole = merged[indexes[i]!]!;
        expect(offset).toBeGreaterThanOrEqual(whole.offset);
        expect(offset + length).toBeLessThanOrEqual(whole.offset + whole.length);
      }
    }),
  );
});
