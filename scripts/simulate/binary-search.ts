/**
 * Returns the first index in the range that passes a test; `to` if none does. If an index passes, all later indexes
 * must pass, too.
 */
export function firstIndex(from: number, to: number, passes: (i: number) => boolean): number {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (passes(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
