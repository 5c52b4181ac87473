import { DAY_MS } from '../model/duration';
import { windowStartMs } from '../model/placement';

/** What a read wants of a group's day. */
export interface WantedWindows {
  /** The half-open range, ms, in which the windows begin. */
  readonly windowsFromMs: number;
  readonly windowsToMs: number;
  /** Every length that they may have, ms. */
  readonly windowLengthsMs: readonly number[];
}

/** Fewer groups are asked for by a query each. */
const MIN_GROUPS = 8;
/** A key takes a read unit of 4 KB where a query takes its share of one, so more windows are asked for by a query a group. */
const MAX_WINDOWS = 6;

/**
 * Plans how reads of one moment ask for groups of a partition's day.
 *
 * @param all one entry a group
 * @returns for each the starts of its windows, whose keys BatchGetItem takes; undefined: a query a group
 */
export function planKeys(all: readonly WantedWindows[]): readonly (readonly number[])[] | undefined {
  if (all.length < MIN_GROUPS) return undefined;
  const starts = all.map(startsOf);
  return starts.some((own) => own === undefined) ? undefined : (starts as readonly number[][]);
}

/** The starts of windows; undefined when there are more than {@link MAX_WINDOWS}. */
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
