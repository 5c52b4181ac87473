import type { Tier } from '../model/tier';

/** The read of one selector. Selectors with the same matchers share a read. */
export interface ExplainedRead {
  readonly selector: string;
  /** Unix time in seconds; the end is excluded. */
  readonly from: number;
  readonly to: number;
  readonly series: number;
  /** `samples`, or the grain length of the rollups. Days without rollups are read as samples. */
  readonly read: string;
  readonly why: string;
  /** Number of rounds of requests beyond memory. A round begins when the previous round has been answered. */
  readonly rounds: number;
  /** Number of days read from rollups, summed over all sources. */
  readonly rollupDays: number;
  readonly tiers: Readonly<Record<Tier, ExplainedTier>>;
  /**
   * Read units and requests that this selector would take if each of its items and byte ranges were requested
   * separately; `dollars` is their price. The query costs less when sources and selectors share requests, or when the
   * instance has cached items.
   */
  readonly readUnits: number;
  readonly objectGets: number;
  readonly dollars: number;
}

/** The data that a selector read from one tier. */
export interface ExplainedTier {
  readonly samples: number;
  /** Number of windows (in memory), items (in the warm table) or byte ranges (in the archive). */
  readonly places: number;
  readonly bytes: number;
  /** The reason why the tier was read, or was not read. */
  readonly why: string;
}

/** The field `explain` of a query's response. */
export interface Explanation {
  readonly reads: readonly ExplainedRead[];
  /** Number of calls to Redis in the whole query. */
  readonly memoryCalls: number;
  /** Number of calls to DynamoDB in the whole query. */
  readonly tableCalls: number;
  /** Number of read units that these calls consumed. */
  readonly readUnits: number;
  /** Number of requests to S3 in the whole query. */
  readonly objectGets: number;
  /** Price of these read units and requests, according to shared/platform/prices.ts. */
  readonly dollars: number;
}
