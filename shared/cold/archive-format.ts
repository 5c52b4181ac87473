import type { Id } from '../model/id';
import type { GroupId } from '../model/placement';
import type { Selection } from '../model/selection';

/** A chunk as listed in the directory. */
export interface ListedChunk {
  readonly chunk: Omit<ArchivedChunk, 'directory'> & { readonly layoutRange: ByteRange };
  /** The chunk's own directory, which locates each series' values; undefined if it is too large to be listed. */
  readonly directory: Uint8Array | undefined;
}

export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/** Gives access to the bytes of one version of an object. */
export interface ObjectBytes {
  readonly byteLength: number;
  /** The object's name, for messages. */
  readonly key: string;
  slice(range: ByteRange): Promise<Uint8Array>;
}

/** A chunk's entry in the index. The byte range holds one page of values for each series, in the layout's order. */
export interface ArchivedChunk extends ByteRange {
  readonly group: GroupId;
  readonly layout: Id;
  /** Times of the chunk's first and last samples, as Unix time in ms, both inclusive. */
  readonly minTimestamp: number;
  readonly maxTimestamp: number;
  readonly samples: number;
  readonly directory: ByteRange;
  readonly skeleton: ByteRange;
}

/** Returns whether a chunk may contain samples of the selection. */
export function isRequested(
  { group, minTimestamp, maxTimestamp }: Pick<ArchivedChunk, 'group' | 'minTimestamp' | 'maxTimestamp'>,
  { groups, range }: Selection,
): boolean {
  return groups.includes(group) && minTimestamp < range.toMs && maxTimestamp >= range.fromMs;
}

/** The bytes are not a complete object of the format version that this release reads. */
export class CorruptArchiveError extends Error {
  override readonly name = 'CorruptArchiveError';
}
