/**
 * The words of the codec: versions, frames and blocks.
 *
 * A block is a group's samples of some range of time, in columns. Frames are gathered into blocks, chunks are encoded
 * blocks, and the tiers are merged as blocks.
 */

/**
 * Decides between two values of one (series, timestamp): the record's sequence number in the stream, then its arrival
 * time (DESIGN.md, "Words"). The place in the request is settled before a record is made, and equal versions are settled
 * by the value's bits.
 */
export interface Version {
  /** The stream's approximate arrival time, ms since epoch, 0 to 2^48 - 1. */
  readonly arrivalMs: number;
  /** The stream's sequence number, 0 to 2^448 - 1 (Kinesis allows 129 decimal digits). */
  readonly sequence: bigint;
}

/**
 * Negative when `a` loses against `b`, positive when it wins, 0 when they are the same. Sequence numbers come first:
 * Kinesis does not promise that arrival times ascend (DESIGN.md, "Versions").
 */
export function compareVersions(a: Version, b: Version): number {
  if (a.sequence !== b.sequence) return a.sequence < b.sequence ? -1 : 1;
  return a.arrivalMs - b.arrivalMs;
}

/** A row of a group: values of its layout's series at one timestamp. */
export interface Frame {
  /** 16 bytes: the hash of the layout's content. */
  readonly layout: Uint8Array;
  /** ms since epoch, an integer from -(2^53 - 1) to 2^53 - 1. */
  readonly timestamp: number;
  readonly version: Version;
  /** The series of the layout that the frame has values of (presence.ts); absent: all. */
  readonly presence?: Uint8Array;
  /** 8 raw little-endian bytes for each series that is present, in the layout's order. */
  readonly values: Uint8Array;
}

/** One series of a block. */
export interface Column {
  /** Ascending indexes of the block's rows that hold a value; absent when every row does. */
  readonly rows?: Uint32Array;
  /**
   * One value for each present row. A container of raw bits: move values with `set`, `subarray` or through an
   * integer view, never through a JavaScript number, which may change the payload of a NaN.
   */
  readonly values: Float64Array;
  /** For each value its index in the block's versions; absent when each has the version of its row. */
  readonly versions?: Uint32Array;
}

/** A deletion of one series' samples of lower versions. No block holds it. */
export interface Erasure {
  /** Index of the column. */
  readonly series: number;
  /** Half-open. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly version: Version;
}

export interface Block {
  /** 16 bytes: the id of the layout that names the columns. */
  readonly layout: Uint8Array;
  /** The rows: ascending, distinct, ms since epoch. */
  readonly timestamps: Float64Array;
  /** Ascending by {@link compareVersions}, and distinct. */
  readonly versions: readonly Version[];
  /** For each row the index of its version; a column's `versions` override it. */
  readonly rowVersions: Uint32Array;
  /** One for each series of the layout, in its order. A column may be empty. */
  readonly columns: readonly Column[];
}

/** Bytes that are not a whole, unaltered frame or chunk of the format version this release reads. */
export class CorruptChunkError extends Error {
  override readonly name = 'CorruptChunkError';
}
