/** What is counted of a tenant, by day. All are sums. */
export const COUNTERS = [
  /** Answered by a function, refused ones included, unless the key was not good. */
  'requests',
  /** Acknowledged: in the stream. */
  'samples',
  /** Of request bodies, as they came. */
  'bodyBytes',
  'servicePosts',
  /** Bytes put into the stream, and units of 25 KB that is charged by. */
  'streamBytes',
  'streamUnits',
  /** Time of functions that answer requests, MB-ms. */
  'functionMbMs',
  /** Chunk bytes put into the warm tier, rewrites included, and how many items. */
  'warmBytesWritten',
  'warmItemsWritten',
] as const;
export type Counter = (typeof COUNTERS)[number];
export type Counts = Partial<Record<Counter, number>>;
