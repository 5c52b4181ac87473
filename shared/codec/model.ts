/**
 * The codec's data types: versions, frames and blocks.
 *
 * A frame is one row: values of many series at one timestamp. A block has many rows in columns, one for each
 * series. A chunk is an encoded block. Samples from different tiers are merged as blocks.
 */

/**
 * The version of a value. It decides between two values of the same series and timestamp: the value with the higher
 * version wins (DESIGN.md, "Versions"). All values of one record in the stream have the same version. If a request has
 * several values of one series and timestamp, post keeps only one of them before it makes a record.
 */
export interface Version {
  /** When the record arrived in the stream, by the stream's clock: Unix time in ms, 0 to 2^48 - 1. */
  readonly arrivalMs: number;
  /** The record's sequence number, 0 to 2^448 - 1. Kinesis documents at most 129 decimal digits. */
  readonly sequence: bigint;
}

/**
 * Compares two versions; can be passed to `sort`. The result is positive if `a` is higher, so that its value wins. The
 * sequence number takes precedence over the arrival time, because Kinesis does not guarantee that arrival times ascend
 * (DESIGN.md, "Versions").
 */
export function compareVersions(a: Version, b: Version): number {
  if (a.sequence !== b.sequence) return a.sequence < b.sequence ? -1 : 1;
  return a.arrivalMs - b.arrivalMs;
}

/** A row of a group: values of the series of its layout at one timestamp. */
export interface Frame {
  /** 16 bytes: the hash of the layout's content. */
  readonly layout: Uint8Array;
  /** Unix time in ms, an integer from -(2^53 - 1) to 2^53 - 1. */
  readonly timestamp: number;
  readonly version: Version;
  /** Says which series of the layout have values in the frame (presence.ts); absent if all of them do. */
  readonly presence?: Uint8Array;
  /** 8 raw little-endian bytes for each present series, in the layout's order. */
  readonly values: Uint8Array;
}

/** The values of one series in a block. */
export interface Column {
  /** The rows of the block in which the series has a value, ascending; absent if it has a value in every row. */
  readonly rows?: Uint32Array;
  /**
   * One value for each of these rows. Move values with `set`, with `subarray`, or through an integer view. Do not read
   * them as JavaScript numbers to move them: that may change the bits of a NaN.
   */
  readonly values: Float64Array;
  /** The version of each value, as an index in {@link Block.versions}; absent if every value has its row's version. */
  readonly versions?: Uint32Array;
}

/** A tombstone. In a half-open range of time, it deletes the samples of one series that have lower versions. */
export interface Tombstone {
  /** Index of the series' column. */
  readonly series: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly version: Version;
}

/** A group's samples, in columns. The series share the timestamps and versions of the rows. */
export interface Block {
  /** 16 bytes: the id of the layout that names the columns. */
  readonly layout: Uint8Array;
  /** The rows: ascending, distinct, as Unix time in ms. */
  readonly timestamps: Float64Array;
  /** Ascending by {@link compareVersions}, and distinct. */
  readonly versions: readonly Version[];
  /** The version of each row, as an index in `versions`. {@link Column.versions} overrides it for single values. */
  readonly rowVersions: Uint32Array;
  /** One column for each series of the layout, in order. A column may be empty. */
  readonly columns: readonly Column[];
}

/** The bytes are not exactly one complete, unaltered frame or chunk in a format version that this release reads. */
export class CorruptChunkError extends Error {
  override readonly name = 'CorruptChunkError';
}
