import type { Id } from '../model/id';
import type { Layout } from '../model/layout';
import type { LayoutBlock } from '../model/layout-block';
import type { GroupId } from '../model/placement';
import type { LocatedBlock, Selection } from '../model/selection';

/** Writes a partition-day's object, group by group. */
export interface ArchiveWriter {
  /**
   * Adds a group. Groups must be added in ascending order, each once.
   *
   * @param blocks at least one, none empty, in order of time
   */
  addGroup(group: GroupId, blocks: readonly (LayoutBlock | StoredBlock)[]): Promise<void>;
  /**
   * Completes the object.
   *
   * @param warm the warm items that the object holds: sort key -> revision
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
  /** Where each series' values are; undefined when the chunk's directory is too large to be listed. */
  readonly directory: Uint8Array | undefined;
}

/** Plans which bytes of an object a read needs, and decodes them. */
export interface ArchiveReader {
  /** Ordered by group, then time. */
  readonly chunks: readonly ArchivedChunk[];
  /**
   * Reads which warm items the object holds: sort key -> revision. Only the archiver and the purge use it.
   */
  warm(): Promise<Readonly<Record<string, string>>>;
  /** Decides which bytes hold the selected series. Does not read anything. */
  plan(selection: Selection): readonly PlannedRead[];
  /** @throws {CorruptArchiveError} */
  read(planned: PlannedRead): Promise<LocatedBlock | undefined>;
  /** @throws {CorruptArchiveError} */
  layout(id: Id): Promise<Layout>;
  /** Loads a whole chunk, for a writer to copy. */
  load(chunk: ArchivedChunk): Promise<StoredBlock>;
  /**
   * Reads back every chunk and compares it with the index.
   *
   * @throws {CorruptArchiveError} when a chunk cannot be decoded or has a different number of samples
   */
  verify(): Promise<void>;
}

export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/** Access to the bytes of one version of an object. */
export interface ObjectBytes {
  readonly byteLength: number;
  /** The object's name, for messages. */
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

/** Whether a chunk may have selected samples. */
export function isAsked(
  { group, minTimestamp, maxTimestamp }: ArchivedChunk,
  { groups, range }: Selection,
): boolean {
  return groups.includes(group) && minTimestamp < range.toMs && maxTimestamp >= range.fromMs;
}

/** A read that {@link ArchiveReader.plan} planned: the bytes to fetch of one chunk. */
export interface PlannedRead {
  readonly chunk: ArchivedChunk;
  readonly ranges: readonly ByteRange[];
  readonly selection: Selection;
}

/** A chunk as it is stored. A writer can copy its bytes. */
export interface StoredBlock {
  readonly chunk: ArchivedChunk;
  readonly layout: Layout;
  readonly bytes: Uint8Array;
  /** @throws {CorruptChunkError | CorruptArchiveError} */
  decode(): LayoutBlock;
}

/** The bytes are not a complete object of the format version that this release reads. */
export class CorruptArchiveError extends Error {
  override readonly name = 'CorruptArchiveError';
}
