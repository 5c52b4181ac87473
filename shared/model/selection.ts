import type { Block } from '../codec';
import type { Id } from './id';
import type { Layout } from './layout';
import type { GroupId } from './placement';

/** A half-open range of time, as Unix time in ms. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The series of one source, and the range of time, that a read requests from a tier. */
export interface Selection {
  /** The series, as a layout. The results have this layout. */
  readonly wanted: Layout;
  /** Groups that may have samples of the series. */
  readonly groups: readonly GroupId[];
  readonly range: TimeRange;
  /** Layouts of the groups that the reader already knows, by id. The tier reads the other layouts itself. */
  readonly layouts: ReadonlyMap<Id, Layout>;
  /**
   * The columns to pick from each layout, by the layout's id. Undefined if unknown; the tier then finds them itself.
   */
  readonly picks?: ReadonlyMap<Id, LayoutPick> | undefined;
}

/** The columns of a layout that belong to wanted series. */
export interface LayoutPick {
  /** Indexes of these columns, ascending. */
  readonly columns: Uint32Array;
  /** For each of these columns, the column that its series has in {@link Selection.wanted}. */
  readonly positions: Uint32Array;
  /** Number of series of the layout. */
  readonly seriesCount: number;
}

/** Samples of the wanted series, from one place in a tier. */
export interface LocatedBlock {
  /**
   * Location of the samples, for display: a Redis key, a DynamoDB item as `table: partition key / sort key`, or a range
   * of an object as `object key @ offset + length`.
   */
  readonly place: string;
  /** Size of everything that is stored at the place, in bytes. */
  readonly bytes: number;
  /** Number of samples stored at the place, including those of series that are not wanted. */
  readonly samples: number;
  /** Samples in the wanted layout. Some may be outside the range, or deleted. */
  readonly block: Block;
}
