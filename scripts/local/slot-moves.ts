/** Number of hash slots of a cluster. */
export const SLOTS = 16_384;

/** Slots from `first` to `last`, both inclusive, as in the cluster's commands. */
export type SlotRange = readonly [first: number, last: number];

/** Slots that one primary gives to another. Primaries are given by their index. */
export interface SlotMove {
  readonly from: number;
  readonly to: number;
  readonly ranges: readonly SlotRange[];
}

/** Returns the slots that a primary serves when `primaries` of them serve equal parts, give or take a slot. */
export function evenShare(primary: number, primaries: number): SlotRange {
  const bound = (i: number) => Math.floor((SLOTS * i) / primaries);
  return [bound(primary), bound(primary + 1) - 1];
}

/**
 * Plans moves after which the first `shards` primaries serve their even shares, and all other primaries serve nothing.
 *
 * @param owned slots of each primary
 */
export function planSlotMoves(owned: readonly (readonly SlotRange[])[], shards: number): SlotMove[] {
  const moves = owned.flatMap((ranges, from) =>
    Array.from({ length: shards }, (_, to): SlotMove => {
      const [least, most] = evenShare(to, shards);
      const given = ranges.map(([first, last]) => [Math.max(first, least), Math.min(last, most)] as const);
      return { from, to, ranges: given.filter(([first, last]) => first <= last) };
    }),
  );
  return moves.filter(({ from, to, ranges }) => from !== to && ranges.length > 0);
}
