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
  /** Remove what else is kept of a partition-day once nobody can read it; they may be called again. */
  readonly onExpiry?: readonly ((ref: PartitionRef, day: Day) => Promise<void>)[];
}

export interface ArchiveLimits {
  /** Bytes after which a day's next group begins another part. */
  readonly partBytes: number;
  /** Asked before each group: whether to keep what there is for the next invocation. */
  readonly mustStop: () => boolean;
}

const DEFAULT_LIMITS: ArchiveLimits = { partBytes: 256 * 1024 * 1024, mustStop: () => false };
/** Warm items of a part, whose revisions it holds: some 100 MB in memory. */
const MAX_PART_ITEMS = 500_000;

/**
 * Archives a partition-day if it is open: writes those of its parts anew that lack warm items or have deleted samples, and
 * commits all parts to the manifest at once. Idempotent. After a crash, or when it was stopped, the next call goes on: it
 * finds the finished parts beside the manifest.
 *
 * @returns false when the day is still open: it was stopped, or another archiver came first
 * @throws {FewerSamplesError}
 */
export async function archiveDay(
  dependencies: ArchiveDependencies,
  ref: PartitionRef,
  { day }: Pick<ManifestDay, 'day'>,
  limits: ArchiveLimits = DEFAULT_LIMITS,
): Promise<boolean> {
  const { manifest, now } = dependencies;
  // Before the warm items are read: a flush announced after this leaves the day open.
  const entry = await manifest.get(ref, day);
  if (entry === undefined) return true;
  const { committed: base } = entry;
  if (!isOpen(entry)) {
    if (entry.isUnswept) await sweepDay(dependencies, ref, day, entry.archived!, base!);
    return true;
  }
  const found = await manifest.attempts.get(ref, day);
  // An attempt keeps the count that it began with: its first parts know nothing of later announcements.
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
      await archiving.discard();
      return false;
    }
    // Reads that had the manifest's old entry begin again.
    await sweepDay(dependencies, ref, day, archived, committed);
  }
  await archiving.end();
  return true;
}

/**
 * Removes the objects of a partition-day that a commit replaced, or that earlier attempts left. Those of an attempt that may
 * still be committed bear a higher count of changes.
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

/** Revisions of warm items by sort key, in that order. */
type RevisionList = readonly (readonly [sortKey: string, revision: string])[];

/** Where a range's groups come from. */
interface Source {
  readonly works: Iterable<GroupWork> | AsyncIterable<GroupWork>;
  readonly deletionsOf: DeletionsOf;
  /** The part that is replaced. */
  readonly object?: OpenArchive;
  /** Of the warm items that the part holds, those that still exist: the next one names them, so that they are purged. */
  readonly held?: RevisionList;
}

/** An invocation's work on a day: goes through its ranges and collects the parts. */
class DayArchiving {
  private readonly parts: ArchivedPart[];
  /** Objects that were written and that the stored attempt lacks. */
  private unsaved: string[] = [];

  constructor(
    private readonly dependencies: ArchiveDependencies,
    private readonly limits: ArchiveLimits,
    private readonly ref: PartitionRef,
    private readonly day: Day,
    private readonly begun: Attempt,
    /** The attempt's state in the table. */
    private stored: string | undefined,
  ) {
    this.parts = [...begun.parts];
  }

  /** @returns false when it was stopped, or another archiver came first */
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

  /** @returns all parts: none where the day never had anything */
  async finish(): Promise<readonly ArchivedPart[]> {
    if (this.parts.length === 0 && this.begun.base !== undefined)
      await this.endPart(this.beginPart(FIRST_GROUP), []);
    return this.parts;
  }

  /** Forgets the attempt. */
  async end(): Promise<void> {
    if (this.stored !== undefined)
      await this.dependencies.manifest.attempts.end(this.ref, this.day, this.stored);
  }

  /**
   * Removes the objects that this invocation wrote, after a conditional write failed. It may have failed because its first
   * answer was lost and another archiver went on from it: objects that the manifest or the stored attempt names stay.
   */
  async discard(): Promise<void> {
    const { cold, manifest } = this.dependencies;
    // The attempt first: the other archiver moves its parts from there to the entry.
    const { attempt } = (await manifest.attempts.get(this.ref, this.day)) ?? {};
    const { archived } = (await manifest.get(this.ref, this.day)) ?? {};
    const named = new Set([...(attempt?.parts ?? []), ...(archived?.parts ?? [])].map(({ key }) => key));
    for (const key of this.unsaved) if (!named.has(key)) await cold.remove(key);
  }

  /** Writes a range's groups into as many parts as their size asks for. */
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
    this.unsaved.push(part.key);
  }

  /** @returns false when another archiver came first */
  private async save(nextGroup: GroupId): Promise<boolean> {
    if (this.unsaved.length === 0) return true;
    const { manifest, now } = this.dependencies;
    const attempt = { ...this.begun, parts: this.parts, nextGroup };
    this.stored = await manifest.attempts.save(this.ref, this.day, this.stored, attempt, now());
    if (this.stored === undefined) {
      await this.discard();
      return false;
    }
    this.unsaved = [];
    return true;
  }
}
