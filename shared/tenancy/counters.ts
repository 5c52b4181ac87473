/** A tenant's counters by UTC day. All are sums. */
export const COUNTERS = [
  /** Requests that a function answered, refused ones included, but not those with an invalid key. */
  'requests',
  /** Requests among them that read samples. DynamoDB reserves the word `reads`. */
  'sampleReads',
  /** Samples acknowledged, which means in the stream. */
  'samples',
  /**
   * Samples that posts were charged with: those of their bodies, dropped ones included, and at least one a post and a kilobyte.
   * A tenant's budget of samples is used by these.
   */
  'samplesCharged',
  /** Bytes of request bodies, as received. */
  'bodyBytes',
  'servicePosts',
  /** Requests that the query function worked on, and their time. */
  'queries',
  'queryMs',
  /** Bytes put into the stream, and the units of 25 KB that it charges by. */
  'streamBytes',
  'streamUnits',
  /** Time of the functions that answer requests, MB-ms. */
  'functionMbMs',
  /** Chunk bytes and items written to the warm tier, rewrites included. */
  'warmBytesWritten',
  'warmItemsWritten',
] as const;
export type Counter = (typeof COUNTERS)[number];
export type Counts = Partial<Record<Counter, number>>;
