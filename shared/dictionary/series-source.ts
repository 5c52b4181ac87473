import type { Id } from '../model/id';
import type { Labels } from '../model/labels';
import { sourceIdOf } from '../model/placement';
import type { Home } from './home';
import type { SeriesDictionary } from './series-dictionary';

/** A source in a tenant's dictionary. There is one object for each source. */
export class SeriesSource {
  /**
   * The home of the source's series: groups of its own, or the groups of a pool. Undefined until the home is
   * known. After that it never changes.
   */
  home: Home | undefined;

  constructor(
    readonly dictionary: SeriesDictionary,
    /** Number of the source in the dictionary, starting at 1. */
    readonly number: number,
  ) {}

  /** The labels that name the source. Each access decodes them again. */
  get labels(): Labels {
    return this.dictionary.labelsOfSource(this.number);
  }

  /** Returns the source's home. A source without a home gets the pool's home or, without a pool, a home of its own. */
  assignHome(pool?: Id): Home {
    this.home ??= this.dictionary.homeOf(pool ?? sourceIdOf(this.dictionary.tenantId, this.labels));
    return this.home;
  }
}

/** A row: values of some series of a source at one timestamp. */
export interface SourceRow {
  /** Unix time in ms. */
  readonly timestamp: number;
  /** Numbers of the series in the dictionary. If a series occurs twice, its last value counts. */
  readonly series: Int32Array;
  /**
   * The value of each series as the 8 bytes of a float64. A JavaScript number could change the bits of a NaN.
   */
  readonly values: BigUint64Array;
}

/** A row without its values: which series have a sample at the timestamp. */
export type RowSeries = Pick<SourceRow, 'timestamp' | 'series'>;

/** A source and its rows. Two rows with the same timestamp have no series in common. */
export type SourceRows = readonly [source: SeriesSource, rows: readonly SourceRow[]];
