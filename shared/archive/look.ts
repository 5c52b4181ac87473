import { isOpen, type ManifestDay } from '../cold/manifest';
import { DAY_MS } from '../model/duration';
import { type Day, dayOf, dayStartMs, type PartitionRef } from '../model/placement';

/** How long after its due date a day is checked every hour. */
const RECENT_MS = 3 * DAY_MS;
/** A partition's full check takes place in one of these hours of the day. */
const TURNS = 24;

/** The partitions and days that an invocation of the archiver checks. */
export interface Look {
  readonly partitions: readonly PartitionRef[];
  /** The first day to check of a partition; undefined: every day. */
  readonly fromDay: (ref: PartitionRef) => Day | undefined;
}

/** Makes an operator's command check every day of all partitions. */
export function wholeLook(partitions: readonly PartitionRef[]): Look {
  return { partitions, fromDay: () => undefined };
}

/**
 * Decides what the hourly archiver checks: each hour, recent days of the registered partitions; and once a
 * day, at an hour that depends on the partition, every day of every partition. The daily check finds old days
 * that a deletion or an import opened, which is rare, and partitions that an earlier release did not
 * register.
 *
 * @param registered partitions of any tenant, in any order
 * @param maxAgeMs age from which posts no longer open a day: `archiveAfter` plus `maxSampleAge`
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
 * Selects the partitions whose rollups may be out of date: those with a day that was archived or removed
 * recently, and those of which every day was checked, because rollups may just have been switched on.
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

/**
 * Whether an open day should have been archived more than a day ago. The archiver was then off, and older
 * days may be overdue too.
 */
export function isLongOverdue(entry: ManifestDay, nowMs: number, archiveAfterMs: number): boolean {
  return isOpen(entry) && nowMs - dayStartMs(entry.day) - DAY_MS > archiveAfterMs + DAY_MS;
}
