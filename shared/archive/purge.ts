import type { Day, PartitionRef } from '../model/placement';
import type { ArchiveDependencies } from './execute';
import { type DayRange, planPurge, planRanges, planRemoval } from './plan';

/** The result of purging a partition-day. */
export interface PurgeCount {
  readonly items: number;
  /** Whether warm items remain, because the archive lacks them or was committed too recently. */
  readonly remains: boolean;
}

/**
 * Removes those warm items of a partition-day that the archive holds. An item that has changed since it was archived
 * stays, and the purge announces the day as open again.
 *
 * @param ageMs see {@link PurgeFacts.ageMs}
 * @throws {CorruptArchiveError} if a chunk of an object cannot be read back. The purge then keeps all warm items that
 *   this object holds
 */
export async function purgeDay(
  dependencies: Pick<ArchiveDependencies, 'warm' | 'cold' | 'manifest' | 'now'>,
  ref: PartitionRef,
  { day }: { readonly day: Day },
  ageMs: number,
): Promise<PurgeCount> {
  const { warm, manifest, now } = dependencies;
  const entry = await manifest.get(ref, day);
  if (!(await warm.hasItems(ref, day))) return { items: 0, remains: false };
  const archived = planPurge({ entry, nowMs: now(), ageMs });
  if (archived === undefined) return { items: 0, remains: true };
  let items = 0;
  let remains = false;
  for (const range of planRanges(archived.parts, '')) {
    const purged = await purgeRange(dependencies, ref, day, range);
    items += purged.items;
    remains ||= purged.remains;
  }
  if (remains) await manifest.announce(ref, day);
  return { items, remains };
}

async function purgeRange(
  { warm, cold }: Pick<ArchiveDependencies, 'warm' | 'cold'>,
  ref: PartitionRef,
  day: Day,
  range: DayRange,
): Promise<PurgeCount> {
  const present = await warm.revisions(ref, day, range);
  if (present.size === 0) return { items: 0, remains: false };
  const part = range.part!;
  const object = await cold.open(part.key);
  const held = object && { etag: object.etag, warm: await object.reader.warm() };
  const removed = planRemoval(part, held, present);
  if (removed === undefined) return { items: 0, remains: true };
  // Before removing warm items, read every chunk of the object that replaces them.
  await object!.reader.verify();
  let items = 0;
  for (const [sortKey, revision] of removed) if (await warm.delete(ref, day, sortKey, revision)) items++;
  return { items, remains: items < present.size };
}
