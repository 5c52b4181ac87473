import type { ManifestDay } from '../cold/manifest';
import { DAY_MS } from '../model/duration';
import { type Day, dayStartMs, type PartitionRef } from '../model/placement';
import type { ArchiveDependencies } from './execute';

/**
 * How much later than the retention a day is removed. By then, reads that began in time have ended, and clock
 * differences do not matter.
 */
const GRACE_MS = DAY_MS / 24;

/** Whether no sample of a day can be read any more. */
export function isExpired(day: Day, nowMs: number, retentionMs: number): boolean {
  return dayStartMs(day) + DAY_MS + GRACE_MS <= nowMs - retentionMs;
}

/** What was removed from a partition-day. */
export interface ExpiredCount {
  readonly objects: number;
  /** Warm items removed from a day that was not archived or not purged. */
  readonly items: number;
  /** Whether nothing is left, including the manifest's entry. */
  readonly isDone: boolean;
}

/**
 * Removes an expired partition-day: further data (`onExpiry`), warm items, objects, and the manifest's entry
 * last, so that a removal that crashed is found and completed. The day's directory entries, and the layouts
 * of sources without later samples, expire on their own. The bucket keeps old versions of objects for a
 * month.
 *
 * @param hasTime asked while items are removed
 */
export async function expireDay(
  {
    warm,
    cold,
    manifest,
    onExpiry = [],
  }: Pick<ArchiveDependencies, 'warm' | 'cold' | 'manifest' | 'onExpiry'>,
  ref: PartitionRef,
  { day, changes }: Pick<ManifestDay, 'day' | 'changes'>,
  hasTime: () => boolean,
): Promise<ExpiredCount> {
  for (const remove of onExpiry) await remove(ref, day);
  const { items, isDone } = await warm.erase(ref, day, hasTime);
  if (!isDone) return { objects: 0, items, isDone };
  // Remove the attempt before the parts it names: it would be resumed if the retention is raised.
  await manifest.attempts.remove(ref, day);
  const keys = await cold.list(ref, day);
  for (const key of keys) await cold.remove(key);
  return { objects: keys.length, items, isDone: await manifest.remove(ref, day, changes) };
}
