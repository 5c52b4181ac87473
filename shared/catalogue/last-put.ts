import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import type { GroupId } from '../model/placement';

/**
 * An instance's record of its last put of a layout: the day of the put, and the lower bound of the samples'
 * timestamps in the catalogue. Both are packed into one number, because a compact map (model/) holds only numbers.
 */
export type LastPut = number;

/**
 * Upper bound of Unix time in seconds, which is reached in the year 2242. The packed number is the day multiplied by
 * this bound, plus the time.
 */
const MAX_SECONDS = 2 ** 33;

/** Returns the number of a UTC day since 1970. */
export function dayNumber(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS);
}

export function lastPutOf(day: number, firstMs: number): LastPut {
  // Rounding up to a second is safe: at worst, the layout is put once more than necessary.
  return day * MAX_SECONDS + Math.min(MAX_SECONDS - 1, Math.max(0, Math.ceil(firstMs / 1000)));
}

/** Whether a layout was put on `day`, with a lower bound of `firstMs` or earlier. */
export function isPutOn(day: number, firstMs: number, last: LastPut): boolean {
  return Math.floor(last / MAX_SECONDS) === day && (last % MAX_SECONDS) * 1000 <= firstMs;
}

/** Returns the key under which an instance stores a layout's {@link LastPut} in its map. */
export function writtenAs(group: GroupId, layoutId: Id, windowMs: number): string {
  return `${group}#${layoutId}#${windowMs}`;
}
