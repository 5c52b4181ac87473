import { isOpen, type ManifestDay } from '../cold/manifest';
import { DAY_MS } from '../model/duration';
import { type Day, dayOf, dayStartMs, type PartitionRef } from '../model/placement';

/** Days are looked at each hour for so long after they should have been archived. */
const RECENT_MS = 3 * DAY_MS;
/** Hours of a day. */
const TURNS = 24;

/** What an invocation of the archiver looks at. */
export interface Look {
  readonly partitions: readonly PartitionRef[];
  /** The first day of a partition; undefined: every day. */
  readonly fromDay: (ref: PartitionRef) => Day | undefined;
}

/** An operator's command looks at every day of all. */
export function wholeLook(partitions: readonly PartitionRef[]): Look {
  return { partitions, fromDay: () => undefined };
}

/**
 * Each hour the archiver looks at recent days of the partitions that ever were in memory. Old days are rarely opened, by a
 * deletion or an import, and an earlier release may not have registered a partition: so once a day, at an hour of its own, it
 * looks at every day of each.
 *
 * @param registered of any tenant, in any order
 * @param maxAgeMs age at which days are no longer opened by what is posted: `archiveAfter` and `maxSampleAge`
 */
export function hourlyLook(
  partitions: readonly PartitionRef[],
  registered: readonly PartitionRef[],
  nowMs: number,
  maxAgeMs: number,
): Look {
  const keyOf = ({ tenantId, partition }: PartitionRef) => `${tenantId}:${partition}`;
  const known = new Set(registered.map(keyOf));
  return {
    partitions: partitions.filter((ref) => known.has(keyOf(ref)) || hasTurn(ref, nowMs)),
    fromDay: (ref) => (hasTurn(ref, nowMs) ? undefined : dayOf(nowMs - maxAgeMs - RECENT_MS)),
  };
}

/**
 * The partitions whose rollups may be behind: those of which every day was looked at, as rollups may just have been switched on,
 * and those of which a day was archived or removed lately.
 */
export function partitionsToRollUp(
  { partitions, fromDay }: Look,
  active: ReadonlySet<PartitionRef>,
): PartitionRef[] {
  return partitions.filter((ref) => active.has(ref) || fromDay(ref) === undefined);
}

function hasTurn({ tenantId, partition }: PartitionRef, nowMs: number): boolean {
  const turn = (Buffer.from(tenantId, 'base64url')[0]! + partition) % TURNS;
  return turn === Math.floor((nowMs * TURNS) / DAY_MS) % TURNS;
}

/** Whether a day has waited so long that older ones may wait too: the archiver was off. */
export function isLongOverdue(entry: ManifestDay, nowMs: number, archiveAfterMs: number): boolean {
  return isOpen(entry) && nowMs - dayStartMs(entry.day) - DAY_MS > archiveAfterMs + DAY_MS;
}
