import type { Id } from '../model/id';
import type { Layout } from '../model/layout';
import type { LayoutBlock } from '../model/layout-block';
import type { GroupId } from '../model/placement';
import type { LocatedBlock, Selection } from '../model/selection';

/** Writes a partition-day's object, group by group. */
export interface ArchiveWriter {
  /**
   * Adds a group; groups come in ascending order, each once.
   *
   * @param blocks at least one, none empty, in order of time
   */
  addGroup(group: GroupId, blocks: readonly (LayoutBlock | StoredBlock)[]): Promise<void>;
  /**
   * @param warm the warm items the object holds: sort key -> revision
   * @returns the object's chunks for the directory
   */
  finish(warm: ReadonlyMap<string, string>): Promise<readonly ListedChunk[]>;
}

/** A chunk as the directory lists it. */
export interface ListedChunk {
  readonly chunk: ArchivedChunk & {
    readonly skeleton: ByteRange;
    readonly layoutRange: ByteRange;
  };
  /** Where each series' values lie; undefined when it is too large to be listed. */
  readonly directory: Uint8Array | undefined;
}

/** Plans which bytes of an object a read needs, and decodes them. */
export interface ArchiveReader {
  /** In order of group, then time. */
  readonly chunks: readonly ArchivedChunk[];
  /** The warm items the object holds: sort key -> revision. Only the archiver and purge ask for them. */
  warm(): Promise<Readonly<Record<string, string>>>;
  /** Which bytes hold what was selected. Reads nothing. */
  plan(selection: Selection): readonly PlannedRead[];
  /** @throws {CorruptArchiveError} */
  read(planned: PlannedRead): Promise<LocatedBlock | undefined>;
  /** @throws {CorruptArchiveError} */
  layout(id: Id): Promise<Layout>;
  /** A whole chunk, as a writer takes it. */
  load(chunk: ArchivedChunk): Promise<StoredBlock>;
  /**
   * Reads every chunk back and compares it with the index.
   *
   * @throws {CorruptArchiveError} when one cannot be decoded or has another number of samples
   */
  verify(): Promise<void>;
}

/** A range of an object's bytes. */
export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/** One version of an object. */
export interface ObjectBytes {
  readonly byteLength: number;
  /** The object's name, for messages and places. */
  readonly key: string;
  slice(range: ByteRange): Promise<Uint8Array>;
}

/** A chunk's entry in the index. */
export interface ArchivedChunk extends ByteRange {
  readonly group: GroupId;
  readonly layout: Id;
  /** ms since epoch, both inclusive. */
  readonly minTimestamp: number;
  readonly maxTimestamp: number;
  readonly samples: number;
}

/** Whether a chunk may have samples that are selected. */
export function isAsked(
  { group, minTimestamp, maxTimestamp }: ArchivedChunk,
  { groups, range }: Selection,
): boolean {
  return groups.includes(group) && minTimestamp < range.toMs && maxTimestamp >= range.fromMs;
}

/** One decision of {@link ArchiveReader.plan}. */
export interface PlannedRead {
  readonly chunk: ArchivedChunk;
  /** The bytes to fetch. */
  readonly ranges: readonly ByteRange[];
  readonly selection: Selection;
}

/** A chunk as an object stores it. A writer copies its bytes. */
export interface StoredBlock {
  readonly chunk: ArchivedChunk;
  readonly layout: Layout;
  readonly bytes: Uint8Array;
  /** @throws {CorruptChunkError | CorruptArchiveError} */
  decode(): LayoutBlock;
}

/** Bytes that are no whole object of the format version this release reads. */
export class CorruptArchiveError extends Error {
  override readonly name = 'CorruptArchiveError';
}
