import { DAY_MS } from '../model/duration';
import { type Day, type PartitionRef, windowStartMs } from '../model/placement';

/** The windows that a read wants from one day of a group. */
export interface WantedWindows {
  /** Half-open range of the windows' starts, in ms. */
  readonly windowsFromMs: number;
  readonly windowsToMs: number;
  /** All lengths that the windows may have, in ms. */
  readonly windowLengthsMs: readonly number[];
}

/** A day of a partition to read, with the wanted windows. */
export interface WarmDay extends WantedWindows {
  readonly ref: PartitionRef;
  readonly day: Day;
  /**
   * How many times flushes had announced the day (DESIGN.md, rule 12) when the manifest was read, which was after
   * memory was read. Undefined if the manifest has not been read yet; the read then uses no cached items.
   */
  readonly announcements: number | undefined;
}

/** Groups are read by key only if there are at least this many. Otherwise, each group is read with a query. */
const MIN_GROUPS = 8;
/**
 * Groups are read by key only if at most this many windows are wanted in each. Otherwise, each group is read with a
 * query, because an item that is read by its key costs at least one read unit (4 KB), while the items of a query share
 * units.
 */
const MAX_WINDOWS = 6;

/**
 * Plans whether the groups of a partition-day are read by key, or with one query each.
 *
 * @param all one entry for each group
 * @returns for each group, the starts of its windows, to be read by key with BatchGetItem; undefined if each group
 *   should be queried
 */
export function planKeys(all: readonly WantedWindows[]): readonly (readonly number[])[] | undefined {
  if (all.length < MIN_GROUPS) return undefined;
  const starts = all.map(startsOf);
  return starts.some((own) => own === undefined) ? undefined : (starts as readonly number[][]);
}

/** Lists the starts of the wanted windows; undefined if there are more than {@link MAX_WINDOWS}. */
function startsOf({ windowsFromMs, windowsToMs, windowLengthsMs }: WantedWindows): number[] | undefined {
  const starts = new Set<number>();
  for (const lengthMs of windowLengthsMs) {
    let startMs = windowStartMs(windowsFromMs, lengthMs);
    if (startMs < windowsFromMs) startMs += lengthMs;
    if (windowsToMs - startMs > Math.min(DAY_MS, MAX_WINDOWS * lengthMs)) return undefined;
    for (; startMs < windowsToMs; startMs += lengthMs) starts.add(startMs);
  }
  return starts.size > MAX_WINDOWS ? undefined : [...starts].sort((a, b) => a - b);
}
