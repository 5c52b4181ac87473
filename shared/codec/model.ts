/**
 * The codec's data types: versions, frames and blocks.
 *
 * A block has a group's samples in a range of time, in columns. Frames are gathered into blocks, chunks are
 * encoded blocks, and samples of different tiers are merged as blocks.
 */

/**
 * Decides between two values of the same series and timestamp: by the record's sequence number in the stream,
 * then by its arrival time (DESIGN.md, "Words"). Duplicates within a request are resolved before a record is
 * made. Between equal versions, the value's bits decide.
 */
export interface Version {
  /** The stream's approximate arrival time, ms since epoch, 0 to 2^48 - 1. */
  readonly arrivalMs: number;
  /** The stream's sequence number, 0 to 2^448 - 1 (Kinesis allows 129 decimal digits). */
  readonly sequence: bigint;
}

/**
 * Returns a negative number if `a` loses against `b`, a positive one if it wins, and 0 if they are equal.
 * Sequence numbers come first, because Kinesis does not guarantee that arrival times ascend (DESIGN.md,
 * "Versions").
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
  /**
   * Presence map of the series of the layout that the frame has values of (presence.ts). Absent: it has
   * values of all.
   */
  readonly presence?: Uint8Array;
  /** 8 raw little-endian bytes for each present series, in the layout's order. */
  readonly values: Uint8Array;
}

/** One series of a block. */
export interface Column {
  /** Ascending indexes of the block's rows that have a value; absent if every row does. */
  readonly rows?: Uint32Array;
  /**
   * One value for each of these rows. A container of raw bits: move values with `set`, `subarray` or through
   * an integer view, never through a JavaScript number, which may change the payload of a NaN.
   */
  readonly values: Float64Array;
  /** Each value's index in the block's versions; absent if every value has its row's version. */
  readonly versions?: Uint32Array;
}

/** Deletes samples of one series that have lower versions. Blocks do not contain erasures. */
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
  /** For each row, the index of its version. A column's `versions` override it. */
  readonly rowVersions: Uint32Array;
  /** One column for each series of the layout, in order. A column may be empty. */
  readonly columns: readonly Column[];
}

/** The bytes are not a whole, unaltered frame or chunk of the format version that this release reads. */
export class CorruptChunkError extends Error {
  override readonly name = 'CorruptChunkError';
}
