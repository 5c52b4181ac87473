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
   * What the items and byte ranges of this selector cost when it is read alone and nothing is cached. The
   * whole query can cost less: selectors share requests, and an instance caches items.
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
  /** Calls of Redis in the whole query. The next two fields count DynamoDB's read units and S3's requests. */
  readonly memoryCalls: number;
  readonly readUnits: number;
  readonly objectGets: number;
  /** What these read units and requests cost, at the prices of shared/cost/prices.ts. */
  readonly dollars: number;
}
