import { isOpen, type ManifestDay } from '../cold/manifest';
import { DAY_MS } from '../model/duration';
import { type Day, dayOf, dayStartMs, type PartitionRef } from '../model/placement';

/** Days are looked at each hour for so long after they should have been archived. */
const RECENT_MS = 3 * DAY_MS;
/** Hours of a day. */
const TURNS = 24;

/**
 * The first day that the archiver looks at this hour. Old days are rarely opened, by a deletion or an import: once a day, at
 * an hour of its own, every day of a partition is looked at.
 *
 * @param maxAgeMs age at which days are no longer opened by what is posted: `archiveAfter` and `maxSampleAge`
 * @returns undefined: every day
 */
export function firstDayToLookAt(
  { tenantId, partition }: PartitionRef,
  nowMs: number,
  maxAgeMs: number,
): Day | undefined {
  const turn = (Buffer.from(tenantId, 'base64url')[0]! + partition) % TURNS;
  if (turn === Math.floor((nowMs * TURNS) / DAY_MS) % TURNS) return undefined;
  return dayOf(nowMs - maxAgeMs - RECENT_MS);
}

/** Whether a day has waited so long that older ones may wait too: the archiver was off. */
export function isLongOverdue(entry: ManifestDay, nowMs: number, archiveAfterMs: number): boolean {
  return isOpen(entry) && nowMs - dayStartMs(entry.day) - DAY_MS > archiveAfterMs + DAY_MS;
}
