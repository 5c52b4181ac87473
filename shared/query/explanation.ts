import type { Tier } from '../model/tier';

/** The read of one selector. Selectors with the same matchers share a read. */
export interface ExplainedRead {
  readonly selector: string;
  /** Seconds since epoch; the end is excluded. */
  readonly from: number;
  readonly to: number;
  readonly series: number;
  /** `samples`, or the length of the rollups that were read for the days that have them. */
  readonly read: string;
  readonly why: string;
  /** Number of rounds of requests beyond memory. A round begins when the round before it is answered. */
  readonly rounds: number;
  /** Number of days read from rollups, summed over all sources. */
  readonly rollupDays: number;
  readonly tiers: Readonly<Record<Tier, ExplainedTier>>;
  /**
   * What the items and byte ranges of this selector cost if each has a request of its own. The query costs
   * less where sources and selectors share requests, and where an instance has cached items.
   */
  readonly readUnits: number;
  readonly objectGets: number;
  readonly dollars: number;
}

/** What a selector read from one tier. */
export interface ExplainedTier {
  readonly samples: number;
  /** Number of windows in memory, of items in the warm table, or of byte ranges in the archive. */
  readonly places: number;
  readonly bytes: number;
  /** Why the tier was read, or not. */
  readonly why: string;
}

/** The field `explain` of a query's answer. */
export interface Explanation {
  readonly reads: readonly ExplainedRead[];
  /** Calls of Redis in the whole query. */
  readonly memoryCalls: number;
  /** Calls of DynamoDB in the whole query, and the read units that they took. */
  readonly tableCalls: number;
  readonly readUnits: number;
  /** Requests of S3 in the whole query. */
  readonly objectGets: number;
  /** What these read units and requests cost, at the prices of shared/cost/prices.ts. */
  readonly dollars: number;
}
