import { type ArchivedDay, type ArchivedPart, isOpen, type ManifestDay } from '../cold/manifest';
import type { GroupId } from '../model/placement';
import { warmKeys } from '../platform/keys';

/** Warm items' revisions by sort key. */
export type Revisions = ReadonlyMap<string, string>;

/** The state of a partition-day before the archiver writes. */
export interface DayFacts<Chunk extends StoredChunk = StoredChunk> {
  /** The warm items that exist. */
  readonly warm: Revisions;
  /** The object that exists, whoever wrote it; undefined when there is none. */
  readonly object: ObjectFacts<Chunk> | undefined;
  /** Whether the next object is written although this one holds all: it is of another format. */
  readonly isMoved: boolean;
}

export interface ObjectFacts<Chunk extends StoredChunk> {
  /** In order of group, then time. */
  readonly chunks: readonly ChunkFacts<Chunk>[];
  /** Revisions of the warm items whose samples the object holds, by sort key. */
  readonly warm: Readonly<Record<string, string>>;
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

/** The archiver's decision for an open partition-day. */
export type DayPlan<Chunk extends StoredChunk = StoredChunk> =
  /** It has no data. */
  | { readonly act: 'skip' }
  /** The object already holds the whole day: a deletion elsewhere opened it, or a crash kept it from the manifest. */
  | { readonly act: 'commit'; readonly samples: number }
  | {
      readonly act: 'rewrite';
      /** In ascending order. */
      readonly groups: readonly GroupPlan<Chunk>[];
      /** Samples that the next object has at least: those of the old one that were not deleted. */
      readonly minSamples: number;
    };

/** How the next object comes to hold a group. */
export interface GroupPlan<Chunk extends StoredChunk = StoredChunk> {
  readonly group: GroupId;
  /** Chunks whose bytes are taken over as they are. */
  readonly copies: readonly Chunk[];
  /** Chunks that are decoded, rid of what was deleted, and merged with each other and the warm items. */
  readonly merges: readonly Chunk[];
  readonly readsWarm: boolean;
}

export function planDay<Chunk extends StoredChunk>({
  warm,
  object,
  isMoved,
}: DayFacts<Chunk>): DayPlan<Chunk> {
  const chunks = object?.chunks ?? [];
  if (object === undefined && warm.size === 0) return { act: 'skip' };
  const changed = new Set<GroupId>();
  for (const [sortKey, revision] of warm)
    if (object?.warm[sortKey] !== revision) changed.add(warmKeys.parseSort(sortKey).group);
  if (!isMoved && changed.size === 0 && chunks.every(({ deleted }) => deleted === 0))
    return { act: 'commit', samples: sum(chunks.map(({ chunk }) => chunk.samples)) };

  const byGroup = Map.groupBy(chunks, ({ chunk }) => chunk.group);
  const groups = [...new Set([...byGroup.keys(), ...changed])].sort();
  return {
    act: 'rewrite',
    groups: groups.map((group) => {
      const stored = byGroup.get(group) ?? [];
      const readsWarm = changed.has(group);
      const isMerged = ({ deleted }: ChunkFacts<Chunk>) => readsWarm || deleted > 0;
      return {
        group,
        copies: stored.filter((facts) => !isMerged(facts)).map(({ chunk }) => chunk),
        merges: stored.filter(isMerged).map(({ chunk }) => chunk),
        readsWarm,
      };
    }),
    minSamples: sum(chunks.map(({ chunk, deleted }) => chunk.samples - deleted)),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** The state of a partition-day before a purge opens the object. */
export interface PurgeFacts {
  readonly entry: ManifestDay | undefined;
  readonly warm: Revisions;
  readonly nowMs: number;
  /** How long the object must have been in the manifest: longer than the longest query (DESIGN.md, rule 5). */
  readonly ageMs: number;
}

/** @returns the archived day whose object decides; 'nothing' without warm items, 'wait' for an open or young day */
export function planPurge({ entry, warm, nowMs, ageMs }: PurgeFacts): 'nothing' | 'wait' | ArchivedDay {
  if (warm.size === 0) return 'nothing';
  const archived = entry?.archived;
  if (archived === undefined || isOpen(entry!) || nowMs - archived.atMs < ageMs) return 'wait';
  return archived;
}

/** A purge's decision once it has seen the object. */
export type RemovalPlan =
  /** Another archiver wrote the object and did not commit it: the day is opened, so that the next one does. */
  | { readonly act: 'reopen' }
  /** Items at the revision that the object holds. The others, if any, open the day: nobody would archive them else. */
  | { readonly act: 'remove'; readonly items: Revisions };

export function planRemoval(
  archived: Pick<ArchivedPart, 'etag'>,
  object: { readonly etag: string; readonly warm: Readonly<Record<string, string>> } | undefined,
  warm: Revisions,
): RemovalPlan {
  if (object?.etag !== archived.etag) return { act: 'reopen' };
  const items = new Map([...warm].filter(([sortKey, revision]) => object.warm[sortKey] === revision));
  return { act: 'remove', items };
}
