import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import type { GroupId } from '../model/placement';

/**
 * The day on which a layout was last put and the lower bound of its samples' timestamps, packed into one
 * number.
 */
export type PutMemo = number;

const MEMO_SECONDS = 2 ** 33;

export function dayNumber(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS);
}

export function memoOf(day: number, firstMs: number): PutMemo {
  // Rounded up: at worst a layout is put once more than needed.
  return day * MEMO_SECONDS + Math.min(MEMO_SECONDS - 1, Math.max(0, Math.ceil(firstMs / 1000)));
}

export function isPutOn(day: number, firstMs: number, memo: PutMemo): boolean {
  return Math.floor(memo / MEMO_SECONDS) === day && (memo % MEMO_SECONDS) * 1000 <= firstMs;
}

/** Key of a layout's memo. */
export function writtenAs(group: GroupId, layoutId: Id, windowMs: number): string {
  return `${group}#${layoutId}#${windowMs}`;
}
