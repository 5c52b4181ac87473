import { isOpen, type ManifestDay } from '../cold/manifest';
import { DAY_MS } from '../model/duration';
import { hasTurn } from '../model/partitions';
import { type Day, dayOf, dayStartMs, type PartitionRef, partitionKeyOf } from '../model/placement';

/** For this many ms after a day was due to be archived, every hourly run checks the day. */
const RECENT_MS = 3 * DAY_MS;
/**
 * Number of hours in a day. For each partition, the run in one of these hours checks all days. The hour depends on the
 * partition, which spreads the work.
 */
const TURNS = 24;

/** The scope of one run of the archiver: the partitions and days that it checks. */
export interface RunScope {
  readonly partitions: readonly PartitionRef[];
  /** The first day of a partition to check; undefined checks every day. */
  readonly fromDay: (ref: PartitionRef) => Day | undefined;
}

/** Returns the scope of an operator's command: every day of all partitions. */
export function fullScope(partitions: readonly PartitionRef[]): RunScope {
  return { partitions, fromDay: () => undefined };
}

/**
 * Decides which days a run of the hourly archiver checks. Every run checks the recent days of registered partitions.
 * Once a day, at an hour that depends on the partition, a run checks all days of the partition, whether the partition
 * is registered or not. The daily check finds old days that a deletion or an import opened, which is rare, and
 * partitions whose registration was lost when an operator restored the meta table.
 *
 * @param partitions all partitions
 * @param registered partitions that have been written to memory, in any order
 * @param maxAgeMs age from which a post can no longer open a day, in ms: `archiveAfter` plus `maxSampleAge`
 */
export function hourlyScope(
  partitions: readonly PartitionRef[],
  registered: readonly PartitionRef[],
  nowMs: number,
  maxAgeMs: number,
): RunScope {
  const known = new Set(registered.map(partitionKeyOf));
  return {
    partitions: partitions.filter((ref) => known.has(partitionKeyOf(ref)) || hasTurn(ref, nowMs, TURNS)),
    fromDay: (ref) => (hasTurn(ref, nowMs, TURNS) ? undefined : dayOf(nowMs - maxAgeMs - RECENT_MS)),
  };
}

/**
 * Selects the partitions whose rollups a run should check. These are the active partitions and the partitions whose
 * days were all checked in this run: rollups may have been switched on after those days were archived.
 *
 * @param active partitions with a day that was archived or removed recently
 */
export function partitionsToRollUp(
  { partitions, fromDay }: RunScope,
  active: ReadonlySet<PartitionRef>,
): PartitionRef[] {
  return partitions.filter((ref) => active.has(ref) || fromDay(ref) === undefined);
}

/**
 * Whether a day is still open although it should have been archived more than a day ago. If so, the archiver was
 * probably off, and older days may be overdue too.
 */
export function isLongOverdue(entry: ManifestDay, nowMs: number, archiveAfterMs: number): boolean {
  return isOpen(entry) && nowMs - dayStartMs(entry.day) - DAY_MS > archiveAfterMs + DAY_MS;
}
