/**
 * Presence maps. A frame's presence map says for which series of the layout the frame has a value: bit `i mod 8` of
 * byte `i / 8` is 1 if the frame has a value for series `i`. The bits after the last series are 0.
 */

/** Returns the size of a presence map for `seriesCount` series, in bytes. */
export function presenceBytes(seriesCount: number): number {
  return (seriesCount + 7) >> 3;
}

/** Whether a presence map contains the series with the index `series`. */
export function isPresent(presence: Uint8Array, series: number): boolean {
  return (presence[series >> 3]! & (1 << (series & 7))) !== 0;
}

/** Returns the indexes of the series that a map contains, ascending. */
export function presentSeries(presence: Uint8Array): Uint32Array {
  const indexes = new Uint32Array(presentCount(presence));
  let at = 0;
  for (let byte = 0; byte < presence.length; byte++)
    for (let bits = presence[byte]!, i = 8 * byte; bits !== 0; bits >>= 1, i++)
      if ((bits & 1) === 1) indexes[at++] = i;
  return indexes;
}

/** Returns the number of series that a map contains. */
export function presentCount(presence: Uint8Array): number {
  let count = 0;
  for (let byte = 0; byte < presence.length; byte++)
    for (let bits = presence[byte]!; bits !== 0; bits &= bits - 1) count++;
  return count;
}

/** Builds a presence map for `seriesCount` series that contains the series at `indexes`. */
export function presenceOf(indexes: ArrayLike<number>, seriesCount: number): Uint8Array {
  const presence = new Uint8Array(presenceBytes(seriesCount));
  for (let i = 0; i < indexes.length; i++) presence[indexes[i]! >> 3]! |= 1 << (indexes[i]! & 7);
  return presence;
}

/** Whether a map has the right size for `seriesCount` series, and no bits set after them. */
export function isPresenceOf(presence: Uint8Array, seriesCount: number): boolean {
  const rest = seriesCount & 7;
  return (
    presence.length === presenceBytes(seriesCount) &&
    (rest === 0 || presence.length === 0 || presence.at(-1)! >> rest === 0)
  );
}
