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
export function firstDayToLookAt(ref: PartitionRef, nowMs: number, maxAgeMs: number): Day | undefined {
  return hasTurn(ref, nowMs) ? undefined : dayOf(nowMs - maxAgeMs - RECENT_MS);
}

function hasTurn({ tenantId, partition }: PartitionRef, nowMs: number): boolean {
  const turn = (Buffer.from(tenantId, 'base64url')[0]! + partition) % TURNS;
  return turn === Math.floor((nowMs * TURNS) / DAY_MS) % TURNS;
}

/**
 * The partitions that the archiver looks at this hour: those that ever were in memory, and once a day every other one, whose
 * registration an earlier release may not have made.
 *
 * @param registered of any tenant, in any order
 */
export function partitionsToLookAt(
  partitions: readonly PartitionRef[],
  registered: readonly PartitionRef[],
  nowMs: number,
): PartitionRef[] {
  const keyOf = ({ tenantId, partition }: PartitionRef) => `${tenantId}:${partition}`;
  const known = new Set(registered.map(keyOf));
  return partitions.filter((ref) => known.has(keyOf(ref)) || hasTurn(ref, nowMs));
}

/** Whether a day has waited so long that older ones may wait too: the archiver was off. */
export function isLongOverdue(entry: ManifestDay, nowMs: number, archiveAfterMs: number): boolean {
  return isOpen(entry) && nowMs - dayStartMs(entry.day) - DAY_MS > archiveAfterMs + DAY_MS;
}
