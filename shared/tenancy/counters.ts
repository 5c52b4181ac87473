/** Counters of a tenant's usage per UTC day. All are sums. */
export const COUNTERS = [
  /** Requests answered, including refused requests, but not requests with an invalid key. */
  'requests',
  /** Requests that read samples. The name is not `reads`, a reserved word of DynamoDB. */
  'sampleReads',
  /** Samples acknowledged, that is, durable in the stream. */
  'samples',
  /**
   * Samples charged to the budget `samplesPerMinute`: the samples in request bodies, including dropped
   * samples, but at least one for each post and one for each kilobyte.
   */
  'samplesCharged',
  /** Size of request bodies as they were received, in bytes. */
  'bodyBytes',
  'servicePosts',
  /** Requests to the query function, and the time that they took in ms. */
  'queries',
  'queryMs',
  /** Bytes put into the stream, and the units of 25 KB in which Kinesis bills them. */
  'streamBytes',
  'streamUnits',
  /** Duration of the functions that answer requests, in ms, multiplied by their memory in MB. */
  'functionMbMs',
  /** Chunk bytes and items written to the warm tier, including rewrites. */
  'warmBytesWritten',
  'warmItemsWritten',
] as const;
export type Counter = (typeof COUNTERS)[number];
export type Counts = Partial<Record<Counter, number>>;
