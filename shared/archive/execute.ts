import type { Catalogue } from '../catalogue/catalogue';
import type { Attempt } from '../cold/archive-attempts';
import type { ArchiveDirectory } from '../cold/archive-directory';
import type { ArchivedPart, DayCommit } from '../cold/archived-day';
import type { ArchiveObject, ColdTier } from '../cold/cold-tier';
import { FIRST_GROUP, isOpen, type Manifest, type ManifestDay } from '../cold/manifest';
import type { Day, GroupId, PartitionRef } from '../model/placement';
import { bucketKeys } from '../platform/keys';
import type { WarmTier } from '../warm/warm-tier';
import { PartWriter } from './part-writer';
import { changedGroups, type DayRange, partLimit, planPart, planRanges } from './plan';
import {
  countDeleted,
  type DeletionsOf,
  deletionsBySource,
  type GroupWork,
  groupFreshItems,
  prepare,
} from './prepare';

export interface ArchiveDependencies {
  readonly warm: WarmTier;
  readonly cold: ColdTier;
  readonly catalogue: Catalogue;
  readonly manifest: Manifest;
  readonly directory: ArchiveDirectory;
  readonly now: () => number;
}

export interface ArchiveLimits {
  /** Once an object has this size, in bytes, the archiver ends it and begins another with the day's next group. */
  readonly partBytes: number;
  /**
   * Called before each group. If it returns true, the archiver saves its attempt and stops; the next call continues the
   * attempt.
   */
  readonly mustStop: () => boolean;
}

/**
 * Maximum number of warm items in one object. The writer holds the revisions of all these items; the
 * revisions of this many items take about 100 MB.
 */
const MAX_PART_ITEMS = 500_000;

/**
 * Archives a day of a partition, if it is open. A day is stored as one or more parts, each of which is an object. The
 * archiver rewrites each part that lacks warm items or still contains deleted samples, and commits all parts to the
 * manifest at once. Repeating the call is safe. The finished parts of an attempt are listed in the manifest's table, so
 * the next call after a crash or a stop continues with them.
 *
 * @returns false if the day is still open, because this archiver was stopped or another archiver committed first
 * @throws {FewerSamplesError} if a new object lacks samples that nobody deleted
 */
export async function archiveDay(
  dependencies: ArchiveDependencies,
  ref: PartitionRef,
  { day }: Pick<ManifestDay, 'day'>,
  limits: ArchiveLimits,
): Promise<boolean> {
  const { manifest, now } = dependencies;
  // Read the entry before the warm items. A flush that adds items after that also raises the entry's count of
  // announcements, so the commit below leaves the day open.
  const entry = await manifest.get(ref, day);
  if (entry === undefined) return true;
  const { committed: base } = entry;
  if (!isOpen(entry)) {
    if (entry.isUnswept) await sweepDay(dependencies, ref, day, entry.archived!, base!);
    return true;
  }
  const found = await manifest.attempts.get(ref, day);
  // A resumed attempt keeps the count of announcements that it began with. Its first parts lack the samples that have
  // been flushed since then.
  const begun: Attempt =
    found !== undefined && found.attempt.base === base
      ? found.attempt
      : { base, changes: entry.announcements, parts: [], nextGroup: FIRST_GROUP };
  const archiving = new DayArchiving(dependencies, limits, ref, day, begun, found?.stored);
  for (const range of planRanges(entry.archived?.parts ?? [], begun.nextGroup))
    if (!(await archiving.archive(range))) return false;
  const parts = await archiving.finish();
  if (parts.length > 0) {
    const archived = { announcements: begun.changes, parts, atMs: now() };
    const committed = await manifest.commit(ref, day, base, archived);
    if (committed === undefined) {
      // Another archiver has committed since this attempt began. This attempt can no longer be committed.
      await archiving.end();
      await archiving.discard();
      return false;
    }
    // A read that still uses the old manifest entry finds that its objects are gone, and starts over.
    await sweepDay(dependencies, ref, day, archived, committed);
  }
  await archiving.end();
  return true;
}

/**
 * Removes the objects of a partition-day that the committed state does not name: objects that the commit replaced, and
 * leftovers of earlier attempts. An object's key contains its attempt's count of announcements. If that count is higher
 * than the commit's, the object stays, because its attempt may still be committed.
 *
 * @param committed the text of the committed entry. It ensures that only this commit is marked as swept, not a later
 *   one
 */
async function sweepDay(
  { cold, manifest }: Pick<ArchiveDependencies, 'cold' | 'manifest'>,
  ref: PartitionRef,
  day: Day,
  { parts, announcements }: DayCommit,
  committed: string,
): Promise<void> {
  const named = new Set(parts.map(({ key }) => key));
  for (const key of await cold.list(ref, day))
    if (!named.has(key) && bucketKeys.parseAnnouncements(key) <= announcements) await cold.remove(key);
  await manifest.markSwept(ref, day, committed);
}

/** Sort keys and revisions of warm items, ordered by sort key. */
type RevisionList = readonly (readonly [sortKey: string, revision: string])[];

/** The data from which the archiver writes a range of groups. */
interface RangeInput {
  readonly works: Iterable<GroupWork> | AsyncIterable<GroupWork>;
  readonly deletionsOf: DeletionsOf;
  /** The archived object that is being replaced; undefined if the range was never archived. */
  readonly object?: ArchiveObject;
  /**
   * The warm items that the replaced object lists and that still exist. The new object lists them too, so that a purge
   * recognizes that they are archived.
   */
  readonly held?: RevisionList;
}

/** Archives a day within one call, one range of groups at a time. Collects the parts to commit. */
class DayArchiving {
  private readonly parts: ArchivedPart[];
  /** Whether the attempt stored in the table names every part that was written. */
  private isSaved = true;

  constructor(
    private readonly dependencies: ArchiveDependencies,
    private readonly limits: ArchiveLimits,
    private readonly ref: PartitionRef,
    private readonly day: Day,
    private readonly begun: Attempt,
    /** The attempt's text in the table; undefined if the table has none. */
    private stored: string | undefined,
  ) {
    this.parts = [...begun.parts];
  }

  /**
   * Archives a range of groups.
   *
   * @returns false if this archiver was stopped, or another archiver saved or committed first
   */
  async archive(range: DayRange): Promise<boolean> {
    const { dependencies, ref, day } = this;
    const { warm, cold, manifest } = dependencies;
    const deletionsOf = deletionsBySource(dependencies.catalogue, ref.tenantId);
    const { part } = range;
    if (part === undefined)
      return this.write(range, { works: groupFreshItems(warm.day(ref, day, range)), deletionsOf });

    const object = await cold.open(part.key, { isSequential: true });
    if (object === undefined) {
      if ((await manifest.get(ref, day))?.committed !== this.begun.base) return false;
      throw new Error(`the manifest names ${part.key}, which the bucket lacks`);
    }
    const present = await warm.revisions(ref, day, range);
    const named = await object.reader.warm();
    const chunks = object.reader.chunks.filter(
      ({ group }) => group >= range.from && (range.to === undefined || group < range.to),
    );
    const plan = planPart({
      chunks: await countDeleted(object.reader, chunks, deletionsOf),
      changed: changedGroups(present, named),
      isCut: range.isCut,
    });
    if (plan !== undefined) {
      const works = plan.map((group) => ({ plan: group, items: undefined }));
      const held = [...present].filter(([sortKey, revision]) => named[sortKey] === revision);
      return this.write(range, { works, deletionsOf, object, held });
    }
    this.parts.push(part);
    return true;
  }

  /**
   * Returns all parts, which the caller commits. If every sample of an archived day was deleted, writes an object
   * without samples, because a commit needs at least one part. Returns no part if the day never had any data.
   */
  async finish(): Promise<readonly ArchivedPart[]> {
    if (this.parts.length === 0 && this.begun.base !== undefined)
      await this.endPart(this.beginPart(FIRST_GROUP), []);
    return this.parts;
  }

  /** Deletes the stored attempt, if there is one. */
  async end(): Promise<void> {
    if (this.stored !== undefined)
      await this.dependencies.manifest.attempts.end(this.ref, this.day, this.stored);
  }

  /**
   * Removes the objects of this attempt after a conditional write failed. Keeps the objects that the manifest
   * or the stored attempt names: the write may have succeeded although its reply was lost, and another
   * archiver may already use these objects.
   */
  async discard(): Promise<void> {
    const { cold, manifest } = this.dependencies;
    // Read the attempt before the manifest. Another archiver moves parts from the attempt to the manifest, so in this
    // order no part is missed.
    const { attempt } = (await manifest.attempts.get(this.ref, this.day)) ?? {};
    const { archived } = (await manifest.get(this.ref, this.day)) ?? {};
    const named = new Set([...(attempt?.parts ?? []), ...(archived?.parts ?? [])].map(({ key }) => key));
    for (const { key } of this.parts) if (!named.has(key)) await cold.remove(key);
  }

  /**
   * Writes the groups of a range to one or more parts of limited size.
   *
   * @returns false if this archiver was stopped, or another archiver saved or committed first
   */
  private async write(
    range: DayRange,
    { works, deletionsOf, object, held = [] }: RangeInput,
  ): Promise<boolean> {
    const { dependencies, limits, ref, day } = this;
    const limit = partLimit(range.part, limits.partBytes);
    let rest = held;
    let part = this.beginPart(range.from);
    try {
      for await (const group of prepare({ ...dependencies, deletionsOf }, ref, day, works)) {
        const next = group.plan.group;
        const isStopped = limits.mustStop();
        const isFull = part.bytes >= limit || part.items >= MAX_PART_ITEMS;
        if (!part.isEmpty && (isStopped || isFull)) {
          await this.endPart(
            part,
            rest.filter(([sortKey]) => sortKey < next),
          );
          rest = rest.filter(([sortKey]) => sortKey >= next);
          if (!(await this.save(next))) return false;
          part = this.beginPart(next);
        }
        if (isStopped) return false;
        await part.add(group, object?.reader);
      }
      if (!part.isEmpty || rest.length > 0) await this.endPart(part, rest);
    } catch (error) {
      await part.abort();
      throw error;
    }
    return range.to === undefined || this.save(range.to);
  }

  private beginPart(firstGroup: GroupId): PartWriter {
    const { cold } = this.dependencies;
    return new PartWriter(cold.begin(cold.newKey(this.ref, this.day, this.begun.changes)), firstGroup);
  }

  private async endPart(writer: PartWriter, held: RevisionList): Promise<void> {
    const { part, object } = await writer.finish(held);
    await this.dependencies.directory.put(this.ref.tenantId, this.day, object);
    this.parts.push(part);
    this.isSaved = false;
  }

  /**
   * Stores the attempt, so that the next call can continue it.
   *
   * @param nextGroup the group with which the next call begins
   * @returns false if another archiver has stored or ended the attempt
   */
  private async save(nextGroup: GroupId): Promise<boolean> {
    if (this.isSaved) return true;
    const { manifest, now } = this.dependencies;
    const attempt = { ...this.begun, parts: this.parts, nextGroup };
    this.stored = await manifest.attempts.save(this.ref, this.day, this.stored, attempt, now());
    if (this.stored === undefined) {
      await this.discard();
      return false;
    }
    this.isSaved = true;
    return true;
  }
}
