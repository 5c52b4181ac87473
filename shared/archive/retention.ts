import type { ManifestDay } from '../cold/manifest';
import { DAY_MS } from '../model/duration';
import { type Day, dayStartMs, type PartitionRef } from '../model/placement';
import type { ArchiveDependencies } from './execute';

/**
 * Time from the end of a day's retention to the day's removal, in ms. After this time, every read that could use the
 * day has ended, even with clock skew.
 */
const GRACE_MS = DAY_MS / 24;

/** Whether the retention of a day's last sample has ended, so that the day can no longer be read. */
export function isExpired(day: Day, nowMs: number, retentionMs: number): boolean {
  return dayStartMs(day) + DAY_MS + GRACE_MS <= nowMs - retentionMs;
}

/** The result of removing an expired partition-day. */
export interface ExpiredCount {
  readonly objects: number;
  /** Number of warm items removed. It is above 0 only if the day was not archived, or not purged. */
  readonly items: number;
  /** Whether everything was removed, including the manifest's entry. */
  readonly isDone: boolean;
}

/**
 * Removes an expired partition-day: first warm items, then objects. Removes the manifest's entry last, so that the next
 * run finds and completes a removal that crashed. DynamoDB's TTL removes the items that locate the day's archived
 * series (cold/archive-directory), and the layouts of sources that have no later samples. The bucket keeps old versions
 * of objects for a month.
 *
 * @param hasTime called while items are removed. If it returns false, the removal ends, and the next run continues it
 */
export async function expireDay(
  { warm, cold, manifest }: Pick<ArchiveDependencies, 'warm' | 'cold' | 'manifest'>,
  ref: PartitionRef,
  { day, announcements }: Pick<ManifestDay, 'day' | 'announcements'>,
  hasTime: () => boolean,
): Promise<ExpiredCount> {
  const { items, isDone } = await warm.erase(ref, day, hasTime);
  if (!isDone) return { objects: 0, items, isDone };
  // Remove an unfinished attempt before the objects that it names. Otherwise, if an operator raised the
  // retention, an archiver would continue the attempt without its objects.
  await manifest.attempts.remove(ref, day);
  const keys = await cold.list(ref, day);
  for (const key of keys) await cold.remove(key);
  return { objects: keys.length, items, isDone: await manifest.remove(ref, day, announcements) };
}
