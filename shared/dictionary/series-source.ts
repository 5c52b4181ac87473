import type { Labels } from '../model/labels';
import { sourceIdOf } from '../model/placement';
import { Home } from './home';
import type { SeriesDictionary } from './series-dictionary';

/** A source of a tenant. A dictionary has one object for each source. */
export class SeriesSource {
  /**
   * Where the source's series live: in groups of its own, or in a pool's. Undefined until it is known; never
   * changes afterwards.
   */
  home: Home | undefined;
  /** The source's first series; 0 when it has none. */
  firstSeries = 0;
  /** Number of series, counted from `firstSeries`, that are not in the dictionary's index yet. */
  unindexed = 0;

  constructor(
    readonly dictionary: SeriesDictionary,
    /** Counted from 1. */
    readonly number: number,
  ) {}

  /** Decoded at each access. */
  get labels(): Labels {
    return this.dictionary.labelsOfSource(this.number);
  }

  /** Gives the source groups of its own, unless it has a home. */
  settle(): Home {
    this.home ??= new Home(this.dictionary, sourceIdOf(this.dictionary.tenantId, this.labels));
    return this.home;
  }
}

/** A row: some series of a source, by their numbers in the dictionary, and a value of each. */
export interface SourceRow {
  /** ms since epoch. */
  readonly timestamp: number;
  /** If a series occurs twice, its last value counts. */
  readonly series: Int32Array;
  /** The 8 bytes of each float64. As a JavaScript number, a NaN could lose its payload. */
  readonly values: BigUint64Array;
}

/** A source and its rows. Two rows with the same timestamp have no series in common. */
export type SourceRows = readonly [source: SeriesSource, rows: readonly SourceRow[]];
