import type { Block } from '../codec';
import type { Id } from './id';
import type { Layout } from './layout';
import type { GroupId } from './placement';

/** A half-open range of time, ms since epoch. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The series of one source that a read requests from a tier. */
export interface Selection {
  readonly wanted: Layout;
  /** Groups that may contain the wanted series. */
  readonly groups: readonly GroupId[];
  readonly range: TimeRange;
  /** Layouts that are already known. A layout is immutable, so any copy will do. */
  readonly layouts: ReadonlyMap<Id, Layout>;
  /** The wanted columns of layouts, for those layouts where they are already known. */
  readonly places?: ReadonlyMap<Id, ColumnPlaces> | undefined;
}

/** The wanted columns of a layout. */
export interface ColumnPlaces {
  /** Column numbers, ascending. */
  readonly columns: Uint32Array;
  /** Each column's position in the wanted layout. */
  readonly positions: Uint32Array;
  /** Number of series of the layout. */
  readonly seriesCount: number;
}

/** Samples of the wanted series, from one place in a tier. */
export interface LocatedBlock {
  /**
   * A Redis key, a DynamoDB item as `table: partition key / sort key`, or a part of an object as `object key
   * @ offset + length`.
   */
  readonly place: string;
  /** Size of the whole place, in bytes. */
  readonly bytes: number;
  /** Number of samples of all series in the place. */
  readonly samples: number;
  /** Has the wanted layout. May contain samples outside the range, and deleted samples. */
  readonly block: Block;
}
