import fc from 'fast-check';
import { evenShare, planSlotMoves, SLOTS, type SlotRange } from '../../../scripts/local/slot-moves';

const even = (shards: number): SlotRange[][] =>
  Array.from({ length: shards }, (_, i) => [evenShare(i, shards)]);

describe('planSlotMoves', () => {
  test.each([
    { name: 'nothing moves when all is even', owned: even(3), shards: 3, moves: [] },
    {
      name: 'a primary that joins gets its share',
      owned: [...even(1), []],
      shards: 2,
      moves: [{ from: 0, to: 1, ranges: [[8_192, 16_383]] }],
    },
    {
      name: 'a primary that leaves gives everything',
      owned: even(2),
      shards: 1,
      moves: [{ from: 1, to: 0, ranges: [[8_192, 16_383]] }],
    },
  ])('$name', ({ owned, shards, moves }) => {
    expect(planSlotMoves(owned, shards)).toEqual(moves);
  });

  test('afterwards, every slot is served by the primary whose share it is in', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: SLOTS - 1 }), { minLength: 5, maxLength: 30 }),
        fc.integer({ min: 1, max: 6 }),
        (bounds, shards) => {
          const starts = [0, ...bounds.toSorted((a, b) => a - b), SLOTS];
          const owned: SlotRange[][] = Array.from({ length: 6 }, () => []);
          for (let i = 0; i + 1 < starts.length; i++) owned[i % 6]!.push([starts[i]!, starts[i + 1]! - 1]);
          const ownerOf = new Map(
            owned.flatMap((ranges, primary) =>
              ranges.flatMap(slotsIn).map((slot) => [slot, primary] as const),
            ),
          );
          for (const { from, to, ranges } of planSlotMoves(owned, shards))
            for (const slot of ranges.flatMap(slotsIn)) {
              if (ownerOf.get(slot) !== from)
                throw new Error(`primary ${from} gives slot ${slot}, which it lacks`);
              ownerOf.set(slot, to);
            }
          const wanted = even(shards).flatMap(([range], primary) =>
            slotsIn(range!).map((slot) => [slot, primary] as const),
          );
          expect(ownerOf).toEqual(new Map(wanted));
        },
      ),
      { numRuns: 20 },
    );
  });
});

const slotsIn = ([first, last]: SlotRange) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
