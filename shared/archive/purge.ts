import type { Day, PartitionRef } from '../model/placement';
import type { ArchiveDependencies } from './execute';
import { planPurge, planRemoval } from './plan';

/** The result of purging a partition-day. */
export interface PurgeCount {
  readonly items: number;
  /** Whether warm items remain: too young in the manifest, or not in the object. */
  readonly remains: boolean;
}

/**
 * Removes the warm items of a partition-day that the archive holds, each only at the revision that was archived.
 *
 * @param ageMs see {@link planPurge}
 * @throws {CorruptArchiveError} when a chunk of the object cannot be read back; nothing is removed then
 */
export async function purgeDay(
  { warm, cold, manifest, now }: Omit<ArchiveDependencies, 'catalogue' | 'directory'>,
  ref: PartitionRef,
  { day }: { readonly day: Day },
  ageMs: number,
): Promise<PurgeCount> {
  const entry = await manifest.get(ref, day);
  const present = await warm.revisions(ref, day);
  const archived = planPurge({ entry, warm: present, nowMs: now(), ageMs });
  if (archived === 'nothing') return { items: 0, remains: false };
  if (archived === 'wait') return { items: 0, remains: true };
  const object = await cold.open(archived.parts[0]!.key);
  const held = object && { etag: object.etag, warm: await object.reader.warm() };
  const plan = planRemoval(archived.parts[0]!, held, present);
  let items = 0;
  if (plan.act === 'remove') {
    // Verified, not assumed: every chunk is read back whole before what it replaces is removed.
    await object!.reader.verify();
    for (const [sortKey, revision] of plan.items) if (await warm.delete(ref, day, sortKey, revision)) items++;
  }
  const remains = items < present.size;
  if (remains) await manifest.announce(ref, day);
  return { items, remains };
}
