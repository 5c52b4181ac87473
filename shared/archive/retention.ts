import type { ManifestDay } from '../cold/manifest';
import { DAY_MS } from '../model/duration';
import { type Day, dayStartMs, type PartitionRef } from '../model/placement';
import type { ArchiveDependencies } from './execute';

/** Removal waits so long: reads that began when the day's last sample could be read, and clocks that differ, are over by then. */
const GRACE_MS = DAY_MS / 24;

/** Whether no sample of a day can be read any more. */
export function isExpired(day: Day, nowMs: number, retentionMs: number): boolean {
  return dayStartMs(day) + DAY_MS + GRACE_MS <= nowMs - retentionMs;
}

/** What was removed of a partition-day. */
export interface ExpiredCount {
  readonly objects: number;
  /** Warm items of a day that was never archived, or not purged. */
  readonly items: number;
  /** Whether the manifest's entry is removed too: nothing is left. */
  readonly isDone: boolean;
}

/**
 * Removes an expired partition-day: what others keep of it, warm items, objects, and at last its entry in the manifest, so
 * that whatever a crash leaves is found again. Its directory and the layouts of sources without later samples expire by
 * themselves. The bucket keeps versions of the objects for a month.
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
  // Before its parts are removed: an attempt may be resumed once the retention is raised.
  await manifest.attempts.remove(ref, day);
  const keys = await cold.list(ref, day);
  for (const key of keys) await cold.remove(key);
  return { objects: keys.length, items, isDone: await manifest.remove(ref, day, changes) };
}
