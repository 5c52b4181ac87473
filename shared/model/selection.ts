import type { Block } from '../codec';
import type { Id } from './id';
import type { Layout } from './layout';
import type { GroupId } from './placement';

/** A half-open range of time, ms since epoch. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Series of one source that a read wants of a tier. */
export interface Selection {
  readonly wanted: Layout;
  /** The groups that may hold them. */
  readonly groups: readonly GroupId[];
  readonly range: TimeRange;
  /** Layouts that need no look-up. A layout is immutable, so any copy will do. */
  readonly layouts: ReadonlyMap<Id, Layout>;
  /** Where the layouts have the wanted series, if that is known already. */
  readonly places?: ReadonlyMap<Id, ColumnPlaces> | undefined;
}

/** The wanted columns of a layout. */
export interface ColumnPlaces {
  /** Ascending. */
  readonly columns: Uint32Array;
  /** For each its column in the wanted layout. */
  readonly positions: Uint32Array;
  /** Series of the layout. */
  readonly seriesCount: number;
}

/** The wanted series' samples out of one place of a tier. */
export interface LocatedBlock {
  /** A Redis key, `table: partition key / sort key` of DynamoDB, or `object key @ offset + length`. */
  readonly place: string;
  /** Bytes of the whole place. */
  readonly bytes: number;
  /** Samples of the whole place, of every series it has. */
  readonly samples: number;
  /** In the wanted layout. May hold samples outside the range, and deleted ones. */
  readonly block: Block;
}
