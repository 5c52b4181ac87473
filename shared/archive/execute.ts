import type { Catalogue } from '../catalogue/catalogue';
import type { Attempt } from '../cold/archive-attempts';
import type { ArchivedPart, DayCommit } from '../cold/archived-day';
import type { ColdTier, OpenArchive } from '../cold/cold-tier';
import type { Directory } from '../cold/directory';
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
  freshGroups,
  type GroupWork,
  prepare,
} from './prepare';

export interface ArchiveDependencies {
  readonly warm: WarmTier;
  readonly cold: ColdTier;
  readonly catalogue: Catalogue;
  readonly manifest: Manifest;
  readonly directory: Directory;
  readonly now: () => number;
  /**
   * Called when a partition-day expires, to remove further data about it that can no longer be read. May be
   * called repeatedly for the same day.
   */
  readonly onExpiry?: readonly ((ref: PartitionRef, day: Day) => Promise<void>)[];
}

export interface ArchiveLimits {
  /** Size at which a part ends: the day's next group begins another part. */
  readonly partBytes: number;
  /** Asked before each group. True stops the archiver, which saves the attempt for the next invocation. */
  readonly mustStop: () => boolean;
}

const DEFAULT_LIMITS: ArchiveLimits = { partBytes: 256 * 1024 * 1024, mustStop: () => false };
/** Most warm items in a part. The writer holds their revisions, some 100 MB in memory. */
const MAX_PART_ITEMS = 500_000;

/**
 * Archives a partition-day if it is open. Rewrites those parts that lack warm items or have deleted samples,
 * and commits all parts to the manifest at once. Idempotent. After a crash or a stop, the next call continues
 * with the attempt's finished parts, which are stored next to the manifest.
 *
 * @returns false when the day is still open, because the archiver was stopped or another one came first
 * @throws {FewerSamplesError}
 */
export async function archiveDay(
  dependencies: ArchiveDependencies,
  ref: PartitionRef,
  { day }: Pick<ManifestDay, 'day'>,
  limits: ArchiveLimits = DEFAULT_LIMITS,
): Promise<boolean> {
  const { manifest, now } = dependencies;
  // Read the entry before the warm items, so that a flush announced after this leaves the day open.
  const entry = await manifest.get(ref, day);
  if (entry === undefined) return true;
  const { committed: base } = entry;
  if (!isOpen(entry)) {
    if (entry.isUnswept) await sweepDay(dependencies, ref, day, entry.archived!, base!);
    return true;
  }
  const found = await manifest.attempts.get(ref, day);
  // A resumed attempt keeps the day's count of changes from when it began, because the parts that it wrote
  // first do not include changes made since then.
  const begun: Attempt =
    found !== undefined && found.attempt.base === base
      ? found.attempt
      : { base, changes: entry.changes, parts: [], nextGroup: FIRST_GROUP };
  const archiving = new DayArchiving(dependencies, limits, ref, day, begun, found?.stored);
  for (const range of planRanges(entry.archived?.parts ?? [], begun.nextGroup))
    if (!(await archiving.archive(range))) return false;
  const parts = await archiving.finish();
  if (parts.length > 0) {
    const archived = { changes: begun.changes, parts, atMs: now() };
    const committed = await manifest.commit(ref, day, base, archived);
    if (committed === undefined) {
      // The attempt began before the other archiver's commit, so it can never be committed.
      await archiving.end();
      await archiving.discard();
      return false;
    }
    // Reads that use the old manifest entry notice that its objects are gone, and start again.
    await sweepDay(dependencies, ref, day, archived, committed);
  }
  await archiving.end();
  return true;
}

/**
 * Removes objects of a partition-day that a commit replaced or that earlier attempts left. Spares objects
 * with a higher count of changes: they belong to attempts that may still be committed.
 */
async function sweepDay(
  { cold, manifest }: Pick<ArchiveDependencies, 'cold' | 'manifest'>,
  ref: PartitionRef,
  day: Day,
  { parts, changes }: DayCommit,
  committed: string,
): Promise<void> {
  const named = new Set(parts.map(({ key }) => key));
  for (const key of await cold.list(ref, day))
    if (!named.has(key) && bucketKeys.parseArchiveChanges(key) <= changes) await cold.remove(key);
  await manifest.markSwept(ref, day, committed);
}

/** Warm items' sort keys and revisions, ordered by sort key. */
type RevisionList = readonly (readonly [sortKey: string, revision: string])[];

/** The input for writing a range of groups. */
interface Source {
  readonly works: Iterable<GroupWork> | AsyncIterable<GroupWork>;
  readonly deletionsOf: DeletionsOf;
  /** The part that is being replaced. */
  readonly object?: OpenArchive;
  /**
   * Those of the replaced part's warm items that still exist. The new part lists them too, so that they are
   * purged.
   */
  readonly held?: RevisionList;
}

/** One invocation's work on a day: goes through its ranges and collects the parts. */
class DayArchiving {
  private readonly parts: ArchivedPart[];
  /** Whether the attempt was saved after the last object was written. */
  private isSaved = true;

  constructor(
    private readonly dependencies: ArchiveDependencies,
    private readonly limits: ArchiveLimits,
    private readonly ref: PartitionRef,
    private readonly day: Day,
    private readonly begun: Attempt,
    /** The attempt as the table has it; undefined when there is none. */
    private stored: string | undefined,
  ) {
    this.parts = [...begun.parts];
  }

  /** Archives a range of groups. @returns false when the archiver was stopped, or another one came first */
  async archive(range: DayRange): Promise<boolean> {
    const { dependencies, ref, day } = this;
    const { warm, cold, manifest } = dependencies;
    const deletionsOf = deletionsBySource(dependencies.catalogue, ref.tenantId);
    const { part } = range;
    if (part === undefined)
      return this.write(range, { works: freshGroups(warm.day(ref, day, range)), deletionsOf });

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

  /** Ends the last part. @returns all parts; none when the day never had any data */
  async finish(): Promise<readonly ArchivedPart[]> {
    if (this.parts.length === 0 && this.begun.base !== undefined)
      await this.endPart(this.beginPart(FIRST_GROUP), []);
    return this.parts;
  }

  /** Deletes the stored attempt. */
  async end(): Promise<void> {
    if (this.stored !== undefined)
      await this.dependencies.manifest.attempts.end(this.ref, this.day, this.stored);
  }

  /**
   * Removes the attempt's objects after a conditional write failed. The write may in fact have succeeded, with
   * its reply lost, and another archiver may have continued from it. So objects that the manifest or the
   * stored attempt names are kept.
   */
  async discard(): Promise<void> {
    const { cold, manifest } = this.dependencies;
    // Read the attempt first: the other archiver moves its parts from the attempt to the manifest.
    const { attempt } = (await manifest.attempts.get(this.ref, this.day)) ?? {};
    const { archived } = (await manifest.get(this.ref, this.day)) ?? {};
    const named = new Set([...(attempt?.parts ?? []), ...(archived?.parts ?? [])].map(({ key }) => key));
    for (const { key } of this.parts) if (!named.has(key)) await cold.remove(key);
  }

  /** Writes a range's groups into one or more parts of limited size. */
  private async write(range: DayRange, { works, deletionsOf, object, held = [] }: Source): Promise<boolean> {
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

  /** Saves the attempt. @returns false when another archiver came first */
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
