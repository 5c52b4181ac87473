import type { Labels } from '../model/labels';
import { sourceIdOf } from '../model/placement';
import { Home } from './home';
import type { SeriesDictionary } from './series-dictionary';

/** A source of a tenant. A dictionary has one object for each source. */
export class SeriesSource {
  /** Where its series live: in groups of its own, or a pool's. Undefined until that is known, then for ever the same. */
  home: Home | undefined;
  /** The series that was numbered first; 0: none. */
  firstSeries = 0;
  /** How many series, from the first on, the dictionary's index lacks. */
  unindexed = 0;

  constructor(
    readonly dictionary: SeriesDictionary,
    /** Counted from 1. */
    readonly number: number,
  ) {}

  /** Each access decodes them. */
  get labels(): Labels {
    return this.dictionary.labelsOfSource(this.number);
  }

  /** Lets its series live in groups of its own unless they live elsewhere. */
  settle(): Home {
    this.home ??= new Home(this.dictionary, sourceIdOf(this.dictionary.tenantId, this.labels));
    return this.home;
  }
}

/** The series of a row, as numbers of the dictionary, with a value each. */
export interface SourceRow {
  /** ms since epoch. */
  readonly timestamp: number;
  /** A series that occurs twice has its last value. */
  readonly series: Int32Array;
  /** A float64's 8 bytes each, which as a JavaScript number could lose the payload of a NaN. */
  readonly values: BigUint64Array;
}

/** A source and its rows. No two of its rows of one timestamp have a series in common. */
export type SourceRows = readonly [source: SeriesSource, rows: readonly SourceRow[]];
