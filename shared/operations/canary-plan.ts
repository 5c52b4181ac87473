import { DAY_MS } from '../model/duration';
import { dayOf, dayStartMs } from '../model/placement';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** A part of the canary's series that is read back. */
export interface Look {
  /** Where its samples should be by now. */
  readonly tier: 'hot' | 'warm' | 'cold';
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether the canary lived by then, and something must be there. */
  readonly isExpected: boolean;
}

/** What the canary says at a time, so that what comes back can be told from what was sent. */
export function valueAt(timeMs: number): number {
  return Math.floor(timeMs / 1000) % 99_991;
}

export function ageSeconds(nowMs: number, newestMs: number): number {
  return Math.max(0, Math.round((nowMs - newestMs) / 1000));
}

/**
 * What to read at a time: each minute what is in memory, every ten minutes what must have left it, every hour what must be in
 * the archive. A range is wide enough for a canary that missed some of its minutes.
 */
export function looks(
  nowMs: number,
  bornAtMs: number,
  { residencyMs, archiveAfterMs }: { readonly residencyMs: number; readonly archiveAfterMs: number },
): Look[] {
  const minute = Math.floor(nowMs / MINUTE_MS);
  const look = (tier: Look['tier'], toMs: number, lengthMs: number): Look => ({
    tier,
    fromMs: toMs - lengthMs,
    toMs,
    isExpected: bornAtMs < toMs - lengthMs,
  });
  const found = [look('hot', nowMs, 15 * MINUTE_MS)];
  if (minute % 10 === 0) found.push(look('warm', nowMs - residencyMs - HOUR_MS, 30 * MINUTE_MS));
  // Four hours for the archiver, which comes every hour, to have taken the day.
  if (minute % 60 === 5)
    found.push(look('cold', dayStartMs(dayOf(nowMs - archiveAfterMs - DAY_MS / 6)), 30 * MINUTE_MS));
  return found;
}
