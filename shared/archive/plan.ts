import type { ArchivedChunk } from '../cold/archive-format';
import type { ArchivedDay, ArchivedPart } from '../cold/archived-day';
import { FIRST_GROUP, isOpen, type ManifestDay } from '../cold/manifest';
import type { GroupId } from '../model/placement';
import { warmKeys } from '../platform/keys';
import type { GroupRange } from '../warm/warm-tier';

/** Revisions of warm items, by sort key. */
export type Revisions = ReadonlyMap<string, string>;

/** A range of a day's groups that an archiver processes in one step. */
export interface DayRange extends GroupRange {
  /** The archived part that holds these groups now; undefined if the day was never archived. */
  readonly part: ArchivedPart | undefined;
  /** Whether an earlier call of the same attempt has already rewritten the first groups of the part. */
  readonly isCut: boolean;
}

/**
 * Divides the groups of a day into the ranges that an archiver processes one at a time: a range for each committed
 * part, or a single range if no part is committed.
 *
 * @param parts the day's committed parts, ordered by group
 * @param nextGroup the first group that is still to be archived; ranges before it are left out
 */
export function planRanges(parts: readonly ArchivedPart[], nextGroup: GroupId): DayRange[] {
  const whole: readonly (ArchivedPart | undefined)[] = parts.length === 0 ? [undefined] : parts;
  return whole.flatMap((part, i): DayRange[] => {
    const start = i === 0 ? FIRST_GROUP : part!.firstGroup;
    const to = parts[i + 1]?.firstGroup;
    if (to !== undefined && to <= nextGroup) return [];
    return [{ from: start > nextGroup ? start : nextGroup, to, part, isCut: start < nextGroup }];
  });
}

/**
 * Returns the size at which the archiver ends a new object and begins another, in bytes. A rewritten part may grow to
 * twice `partBytes`: if it were divided earlier, a little late data would result in a very small second object. A part
 * that already exceeds 1.5 times `partBytes` is divided at `partBytes`.
 *
 * @param part the part to be rewritten; undefined if the range was never archived
 */
export function partLimit(part: Pick<ArchivedPart, 'bytes'> | undefined, partBytes: number): number {
  return part === undefined || part.bytes > 1.5 * partBytes ? partBytes : 2 * partBytes;
}

/**
 * Returns the groups that have at least one warm item that the archive lacks, or holds at another revision.
 *
 * @param warm the items in the warm table
 * @param held revisions of the items that the archived object lists, by sort key
 */
export function changedGroups(warm: Revisions, held: Readonly<Record<string, string>>): Set<GroupId> {
  const changed = new Set<GroupId>();
  for (const [sortKey, revision] of warm)
    if (held[sortKey] !== revision) changed.add(warmKeys.parseSort(sortKey).group);
  return changed;
}

/** The input of {@link planPart}: the facts about one part of a day. */
interface PartFacts {
  /** The chunks of the part's object, ordered by group, then time. */
  readonly chunks: readonly ChunkFacts[];
  /** The part's {@link changedGroups}. */
  readonly changed: ReadonlySet<GroupId>;
  /**
   * Whether an earlier call of the attempt has rewritten the first groups of the part into a new object. The
   * new object replaces the old one, so the remaining groups are rewritten too, even if they are unchanged.
   */
  readonly isCut: boolean;
}

/** A chunk in an object, and how many of its samples were deleted. */
export interface ChunkFacts {
  readonly chunk: ArchivedChunk;
  /** Number of the chunk's samples that were deleted after the chunk was written. */
  readonly deleted: number;
}

/** How to write a group into the new object. */
export interface GroupCompaction {
  readonly group: GroupId;
  /** Chunks whose bytes are copied unchanged. */
  readonly copies: readonly ArchivedChunk[];
  /** Chunks that are decoded, stripped of deleted samples, and merged with each other and the warm items. */
  readonly merges: readonly ArchivedChunk[];
  /** Whether the group's warm items must be read and merged too. */
  readonly readsWarm: boolean;
  /**
   * Minimum number of samples that the new object must have for the group: the number in the old object, less deleted
   * samples.
   */
  readonly minSamples: number;
}

/**
 * Plans how to rewrite one part of an open day.
 *
 * @returns the groups of the new object, ascending; undefined if the part needs no change, because only other parts of
 *   the day have changed
 */
export function planPart({ chunks, changed, isCut }: PartFacts): GroupCompaction[] | undefined {
  if (!isCut && changed.size === 0 && chunks.every(({ deleted }) => deleted === 0)) return undefined;
  const byGroup = Map.groupBy(chunks, ({ chunk }) => chunk.group);
  const groups = [...new Set([...byGroup.keys(), ...changed])].sort();
  return groups.map((group) => {
    const stored = byGroup.get(group) ?? [];
    const readsWarm = changed.has(group);
    const isMerged = ({ deleted }: ChunkFacts) => readsWarm || deleted > 0;
    return {
      group,
      copies: stored.filter((facts) => !isMerged(facts)).map(({ chunk }) => chunk),
      merges: stored.filter(isMerged).map(({ chunk }) => chunk),
      readsWarm,
      minSamples: stored.reduce((sum, { chunk, deleted }) => sum + chunk.samples - deleted, 0),
    };
  });
}

/** The input of {@link planPurge}: the facts about a partition-day that has warm items. */
export interface PurgeFacts {
  /** The day's entry of the manifest; undefined if it has none. */
  readonly entry: ManifestDay | undefined;
  readonly nowMs: number;
  /**
   * Minimum time between the commit of the day and its purge, in ms. It must be longer than the longest query, since a
   * query that began before the commit still reads the warm items (DESIGN.md, rule 5).
   */
  readonly ageMs: number;
}

/**
 * Decides whether a day may be purged.
 *
 * @returns the archived day, whose objects list the items that may be removed; undefined if the day is not archived, is
 *   still open, or was committed too recently
 */
export function planPurge({ entry, nowMs, ageMs }: PurgeFacts): ArchivedDay | undefined {
  const archived = entry?.archived;
  if (archived === undefined || isOpen(entry!) || nowMs - archived.atMs < ageMs) return undefined;
  return archived;
}

/**
 * Returns the warm items of a part that a purge removes: the items that the part's object holds at the same revision.
 * If other items remain, the caller must announce the day as open, so that an archiver archives them.
 *
 * @returns undefined if the object is not the one that was committed. The caller must then announce the day as open, so
 *   that an archiver repairs it
 */
export function planRemoval(
  part: Pick<ArchivedPart, 'etag'>,
  object: { readonly etag: string; readonly warm: Readonly<Record<string, string>> } | undefined,
  warm: Revisions,
): Revisions | undefined {
  if (object?.etag !== part.etag) return undefined;
  return new Map([...warm].filter(([sortKey, revision]) => object.warm[sortKey] === revision));
}
