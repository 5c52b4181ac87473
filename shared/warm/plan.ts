import { DAY_MS } from '../model/duration';
import { type Day, type PartitionRef, windowStartMs } from '../model/placement';

/** The windows of a group's day that a read wants. */
export interface WantedWindows {
  /** Half-open range of the windows' starts, ms. */
  readonly windowsFromMs: number;
  readonly windowsToMs: number;
  /** Every length that the windows may have, ms. */
  readonly windowLengthsMs: readonly number[];
}

/** A day of a partition to read, with the wanted windows. */
export interface WarmDay extends WantedWindows {
  readonly ref: PartitionRef;
  readonly day: Day;
  /**
   * Number of times that flushes had announced the day (DESIGN.md, rule 12) when the manifest was read, which
   * was after memory. Undefined if the manifest has not been read yet. The read then uses no cached items.
   */
  readonly announcements: number | undefined;
}

/** Minimum number of groups for reads by key. With fewer groups, each group is read with a query. */
const MIN_GROUPS = 8;
/**
 * Maximum number of wanted windows in a group for reads by key. With more windows, each group is read with a query,
 * because an item that is read by its key costs at least one read unit (4 KB), while the items of a query share units.
 */
const MAX_WINDOWS = 6;

/**
 * Plans whether groups of a partition's day are read by key or with one query each.
 *
 * @param all one entry for each group
 * @returns for each group the starts of its windows, for reads by key with BatchGetItem; undefined when each
 *   group should be queried
 */
export function planKeys(all: readonly WantedWindows[]): readonly (readonly number[])[] | undefined {
  if (all.length < MIN_GROUPS) return undefined;
  const starts = all.map(startsOf);
  return starts.some((own) => own === undefined) ? undefined : (starts as readonly number[][]);
}

/** Lists the starts of the wanted windows; undefined when there are more than {@link MAX_WINDOWS}. */
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
