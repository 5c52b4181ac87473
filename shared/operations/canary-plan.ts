import { DAY_MS, HOUR_MS, MINUTE_MS } from '../model/duration';
import { dayOf, dayStartMs } from '../model/placement';

/** A range of the canary's series to read back. */
export interface ReadBack {
  /** The tier that must hold the range's samples by now. */
  readonly tier: 'hot' | 'warm' | 'cold';
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether the canary existed during the whole range. If it did, an empty range is a gap. */
  readonly isExpected: boolean;
}

/** Returns the value that the canary posts for a given time, so that reading it back can check the value. */
export function valueAt(timeMs: number): number {
  return Math.floor(timeMs / 1000) % 99_991;
}

export function ageSeconds(nowMs: number, newestMs: number): number {
  return Math.max(0, Math.round((nowMs - newestMs) / 1000));
}

/**
 * Decides which ranges to read back:
 *
 * - every minute, one from memory,
 * - every ten minutes, one that must be in the warm tier,
 * - every hour, one that must be in the archive.
 *
 * Each range is long enough that a few missed posts do not make it look empty.
 */
export function planReadBacks(
  nowMs: number,
  bornAtMs: number,
  { residencyMs, archiveAfterMs }: { readonly residencyMs: number; readonly archiveAfterMs: number },
): ReadBack[] {
  const minute = Math.floor(nowMs / MINUTE_MS);
  const readBack = (tier: ReadBack['tier'], toMs: number, lengthMs: number): ReadBack => ({
    tier,
    fromMs: toMs - lengthMs,
    toMs,
    isExpected: bornAtMs < toMs - lengthMs,
  });
  const found = [readBack('hot', nowMs, 15 * MINUTE_MS)];
  if (minute % 10 === 0) found.push(readBack('warm', nowMs - residencyMs - HOUR_MS, 30 * MINUTE_MS));
  // The archiver runs every hour, and archives a day within four hours.
  if (minute % 60 === 5)
    found.push(readBack('cold', dayStartMs(dayOf(nowMs - archiveAfterMs - DAY_MS / 6)), 30 * MINUTE_MS));
  return found;
}
