/** Slots from `first` to `last`, both inclusive, as in the cluster's commands. */
export type SlotRange = readonly [first: number, last: number];

/** Slots that one primary gives to another. Primaries are given by their index. */
export interface SlotMove {
  readonly from: number;
  readonly to: number;
  readonly ranges: readonly SlotRange[];
}

/**
 * Plans moves after which the first `shards` primaries serve equal numbers of slots (give or take one), and all other
 * primaries serve none. Moves as few slots as possible.
 *
 * @param owned slots of each primary
 */
export function planSlotMoves(owned: readonly (readonly SlotRange[])[], shards: number): SlotMove[] {
  const count = (ranges: readonly SlotRange[]) =>
    ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  const all = owned.reduce((sum, ranges) => sum + count(ranges), 0);
  const has = owned.map(count);
  // If the slots do not divide evenly, the primaries with the most slots get one more.
  const byCount = Array.from({ length: shards }, (_, i) => i).sort((a, b) => (has[b] ?? 0) - (has[a] ?? 0));
  const wanted = owned.map(() => 0);
  byCount.forEach((i, rank) => {
    wanted[i] = Math.floor(all / shards) + (rank < all % shards ? 1 : 0);
  });
  const moves: SlotMove[] = [];
  let to = 0;
  let room = 0;
  const nextRoom = () => {
    while (room <= 0 && to < owned.length) {
      room = wanted[to]! - has[to]!;
      if (room <= 0) to++;
    }
  };
  owned.forEach((ranges, from) => {
    let surplus = has[from]! - wanted[from]!;
    // Move the last slots.
    const stack = [...ranges];
    while (surplus > 0) {
      nextRoom();
      const [first, last] = stack.pop()!;
      const given = Math.min(surplus, room, last - first + 1);
      const move = moves.at(-1);
      const range: SlotRange = [last - given + 1, last];
      if (move?.from === from && move.to === to)
        moves[moves.length - 1] = { from, to, ranges: [...move.ranges, range] };
      else moves.push({ from, to, ranges: [range] });
      if (first <= last - given) stack.push([first, last - given]);
      surplus -= given;
      room -= given;
      if (room === 0) to++;
    }
  });
  return moves;
}
