import type { ArchivedDay, ArchivedPart } from '../cold/archived-day';
import { FIRST_GROUP, isOpen, type ManifestDay } from '../cold/manifest';
import type { GroupId } from '../model/placement';
import { warmKeys } from '../platform/keys';
import type { GroupRange } from '../warm/warm-tier';

/** Revisions of warm items by sort key. */
export type Revisions = ReadonlyMap<string, string>;

/**
 * A range of a day's groups, and the archived part that holds them so far; `part` is undefined before the
 * first archiving.
 */
export interface DayRange extends GroupRange {
  readonly part: ArchivedPart | undefined;
  /** Whether an attempt has already rewritten the part's first groups. */
  readonly isCut: boolean;
}

/**
 * Divides a day's groups into the ranges that an archiver goes through.
 *
 * @param parts the day's committed parts
 * @param nextGroup the attempt already has all groups before this one
 */
export function planRanges(parts: readonly ArchivedPart[], nextGroup: GroupId): DayRange[] {
  const whole = parts.length === 0 ? [{ firstGroup: FIRST_GROUP, part: undefined }] : parts.map(partAsRange);
  return whole.flatMap(({ firstGroup, part }, i): DayRange[] => {
    const start = i === 0 ? FIRST_GROUP : firstGroup;
    const to = whole[i + 1]?.firstGroup;
    if (to !== undefined && to <= nextGroup) return [];
    return [{ from: start > nextGroup ? start : nextGroup, to, part, isCut: start < nextGroup }];
  });
}

function partAsRange(part: ArchivedPart) {
  return { firstGroup: part.firstGroup, part };
}

/**
 * Returns the size at which the new object of a range ends. A rewritten object may grow to twice the part
 * size before it is split, so that late data does not create very small parts.
 */
export function partLimit(part: Pick<ArchivedPart, 'bytes'> | undefined, partBytes: number): number {
  return part === undefined || part.bytes > 1.5 * partBytes ? partBytes : 2 * partBytes;
}

/** Returns the groups with warm items that an object lacks or has at another revision. */
export function changedGroups(warm: Revisions, held: Readonly<Record<string, string>>): Set<GroupId> {
  const changed = new Set<GroupId>();
  for (const [sortKey, revision] of warm)
    if (held[sortKey] !== revision) changed.add(warmKeys.parseSort(sortKey).group);
  return changed;
}

/** A part's state before it is rewritten. */
export interface PartFacts<Chunk extends StoredChunk = StoredChunk> {
  /** Ordered by group, then time. */
  readonly chunks: readonly ChunkFacts<Chunk>[];
  readonly changed: ReadonlySet<GroupId>;
  /**
   * Whether an attempt has already rewritten the part's first groups. The remaining groups are then rewritten
   * too, even if unchanged.
   */
  readonly isCut: boolean;
}

export interface StoredChunk {
  readonly group: GroupId;
  readonly samples: number;
}

export interface ChunkFacts<Chunk extends StoredChunk> {
  readonly chunk: Chunk;
  /** How many of its samples were deleted since the chunk was written. */
  readonly deleted: number;
}

/** How to write a group into the new object. */
export interface GroupCompaction<Chunk extends StoredChunk = StoredChunk> {
  readonly group: GroupId;
  /** Chunks whose bytes are copied unchanged. */
  readonly copies: readonly Chunk[];
  /** Chunks that are decoded, stripped of deleted samples, and merged with each other and the warm items. */
  readonly merges: readonly Chunk[];
  readonly readsWarm: boolean;
  /** Lower bound of the group's samples in the new object: the old object's samples that were not deleted. */
  readonly minSamples: number;
}

/**
 * Plans how to rewrite a part of an open day.
 *
 * @returns the new object's groups, ascending; undefined when the part is already complete, because the
 *   change that opened the day was in another part
 */
export function planPart<Chunk extends StoredChunk>({
  chunks,
  changed,
  isCut,
}: PartFacts<Chunk>): GroupCompaction<Chunk>[] | undefined {
  if (!isCut && changed.size === 0 && chunks.every(({ deleted }) => deleted === 0)) return undefined;
  const byGroup = Map.groupBy(chunks, ({ chunk }) => chunk.group);
  const groups = [...new Set([...byGroup.keys(), ...changed])].sort();
  return groups.map((group) => {
    const stored = byGroup.get(group) ?? [];
    const readsWarm = changed.has(group);
    const isMerged = ({ deleted }: ChunkFacts<Chunk>) => readsWarm || deleted > 0;
    return {
      group,
      copies: stored.filter((facts) => !isMerged(facts)).map(({ chunk }) => chunk),
      merges: stored.filter(isMerged).map(({ chunk }) => chunk),
      readsWarm,
      minSamples: stored.reduce((sum, { chunk, deleted }) => sum + chunk.samples - deleted, 0),
    };
  });
}

/** State of a partition-day with warm items, before a purge opens the day's objects. */
export interface PurgeFacts {
  readonly entry: ManifestDay | undefined;
  readonly nowMs: number;
  /** How long the day must have been in the manifest: longer than the longest query (DESIGN.md, rule 5). */
  readonly ageMs: number;
}

/**
 * @returns the archived day whose objects decide on the purge; undefined when the day is open or too young to
 *   purge
 */
export function planPurge({ entry, nowMs, ageMs }: PurgeFacts): ArchivedDay | undefined {
  const archived = entry?.archived;
  if (archived === undefined || isOpen(entry!) || nowMs - archived.atMs < ageMs) return undefined;
  return archived;
}

/** A purge's decision about a part, after reading its object. */
export type RemovalPlan =
  /** The object is not the one that was committed. The day is opened, so that an archiver repairs it. */
  | { readonly act: 'reopen' }
  /**
   * Remove these items: the object holds them at the same revision. If other items remain, the day is opened,
   * since nobody would archive them otherwise.
   */
  | { readonly act: 'remove'; readonly items: Revisions };

export function planRemoval(
  part: Pick<ArchivedPart, 'etag'>,
  object: { readonly etag: string; readonly warm: Readonly<Record<string, string>> } | undefined,
  warm: Revisions,
): RemovalPlan {
  if (object?.etag !== part.etag) return { act: 'reopen' };
  const items = new Map([...warm].filter(([sortKey, revision]) => object.warm[sortKey] === revision));
  return { act: 'remove', items };
}
