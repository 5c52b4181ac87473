import fc from 'fast-check';
import type { SlotRange } from '../../../scripts/local/slot-moves';
import { planSlotMoves } from '../../../scripts/local/slot-moves';

/** Each primary's slots after the moves. */
function moved(owned: readonly (readonly SlotRange[])[], shards: number): Set<number>[] {
  const slots = owned.map((ranges) => new Set(ranges.flatMap(slotsIn)));
  for (const { from, to, ranges } of planSlotMoves(owned, shards))
    for (const slot of ranges.flatMap(slotsIn)) {
      if (!slots[from]!.delete(slot)) throw new Error(`primary ${from} gives slot ${slot}, which it lacks`);
      slots[to]!.add(slot);
    }
  return slots;
}
const slotsIn = ([first, last]: SlotRange) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

describe('planSlotMoves', () => {
  test.each([
    { name: 'nothing moves when all is even', owned: [[[0, 5]], [[6, 11]]], shards: 2, moves: [] },
    {
      name: 'an empty primary gets an even share of each',
      owned: [[[0, 5]], [[6, 11]], []],
      shards: 3,
      moves: [
        { from: 0, to: 2, ranges: [[4, 5]] },
        { from: 1, to: 2, ranges: [[10, 11]] },
      ],
    },
    {
      name: 'one that goes gives all',
      owned: [[[0, 3]], [[4, 7]], [[8, 11]]],
      shards: 2,
      moves: [
        { from: 2, to: 0, ranges: [[10, 11]] },
        { from: 2, to: 1, ranges: [[8, 9]] },
      ],
    },
  ] as { name: string; owned: SlotRange[][]; shards: number; moves: unknown[] }[])(
    '$name',
    ({ owned, shards, moves }) => {
      expect(planSlotMoves(owned, shards)).toEqual(moves);
    },
  );

  test('every slot stays with somebody, evenly, and no more moves than must', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(5), { minLength: 60, maxLength: 60 }),
        fc.integer({ min: 1, max: 6 }),
        (owners, shards) => {
          const owned = Array.from({ length: 6 }, (_, node) =>
            owners.flatMap((owner, slot) => (owner === node ? [[slot, slot] as const] : [])),
          );
          const sizes = moved(owned, shards).map((slots) => slots.size);
          const even = Math.floor(60 / shards);
          expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(60);
          sizes.forEach((size, node) => {
            if (node >= shards) expect(size).toBe(0);
            else expect([even, even + 1]).toContain(size);
          });
          const gives = new Set(planSlotMoves(owned, shards).map(({ from }) => from));
          for (const { to } of planSlotMoves(owned, shards)) expect(gives.has(to)).toBe(false);
        },
      ),
    );
  });
});
