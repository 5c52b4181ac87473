import type { ArchivedDay, ArchivedPart } from '../cold/archived-day';
import { FIRST_GROUP, isOpen, type ManifestDay } from '../cold/manifest';
import type { GroupId } from '../model/placement';
import { warmKeys } from '../platform/keys';
import type { GroupRange } from '../warm/warm-tier';

/** Warm items' revisions by sort key. */
export type Revisions = ReadonlyMap<string, string>;

/** A range of a day's groups, and the part that has had them; undefined before anything was archived. */
export interface DayRange extends GroupRange {
  readonly part: ArchivedPart | undefined;
  /** Whether an attempt already has the part's first groups. */
  readonly isCut: boolean;
}

/**
 * The ranges that an archiver goes through, one after the other.
 *
 * @param parts the day's, as committed
 * @param nextGroup the attempt has the groups before it
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
 * Bytes at which the next object of a range ends. One that is written anew may grow to twice the size of a part before it
 * is split, so that late data does not leave crumbs.
 */
export function partLimit(part: Pick<ArchivedPart, 'bytes'> | undefined, partBytes: number): number {
  return part === undefined || part.bytes > 1.5 * partBytes ? partBytes : 2 * partBytes;
}

/** The groups of which an object lacks warm items, or has another revision. */
export function changedGroups(warm: Revisions, held: Readonly<Record<string, string>>): Set<GroupId> {
  const changed = new Set<GroupId>();
  for (const [sortKey, revision] of warm)
    if (held[sortKey] !== revision) changed.add(warmKeys.parseSort(sortKey).group);
  return changed;
}

/** A part's state before the archiver writes. */
export interface PartFacts<Chunk extends StoredChunk = StoredChunk> {
  /** In order of group, then time. */
  readonly chunks: readonly ChunkFacts<Chunk>[];
  readonly changed: ReadonlySet<GroupId>;
  /** Whether an attempt already has the part's first groups: the rest is written although the part holds it. */
  readonly isCut: boolean;
}

export interface StoredChunk {
  readonly group: GroupId;
  readonly samples: number;
}

export interface ChunkFacts<Chunk extends StoredChunk> {
  readonly chunk: Chunk;
  /** Of its samples, those that were deleted since it was written. */
  readonly deleted: number;
}

/** How the next object comes to hold a group. */
export interface GroupCompaction<Chunk extends StoredChunk = StoredChunk> {
  readonly group: GroupId;
  /** Chunks whose bytes are taken over as they are. */
  readonly copies: readonly Chunk[];
  /** Chunks that are decoded, rid of what was deleted, and merged with each other and the warm items. */
  readonly merges: readonly Chunk[];
  readonly readsWarm: boolean;
  /** Samples that the next object has of it at least: those of the old one that were not deleted. */
  readonly minSamples: number;
}

/**
 * Decides on a part of an open day.
 *
 * @returns the next object's groups, ascending; undefined when the part already holds all: a change elsewhere opened the day
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

/** The state of a partition-day that has warm items, before a purge opens the objects. */
export interface PurgeFacts {
  readonly entry: ManifestDay | undefined;
  readonly nowMs: number;
  /** How long the day must have been in the manifest: longer than the longest query (DESIGN.md, rule 5). */
  readonly ageMs: number;
}

/** @returns the archived day whose objects decide; undefined for an open or young day */
export function planPurge({ entry, nowMs, ageMs }: PurgeFacts): ArchivedDay | undefined {
  const archived = entry?.archived;
  if (archived === undefined || isOpen(entry!) || nowMs - archived.atMs < ageMs) return undefined;
  return archived;
}

/** A purge's decision on a part once it has seen the object. */
export type RemovalPlan =
  /** The object is not the one that was committed: the day is opened, so that an archiver looks at it. */
  | { readonly act: 'reopen' }
  /** Items at the revision that the object holds. The others, if any, open the day: nobody would archive them else. */
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
