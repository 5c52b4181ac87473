/** A record as the stream delivers it. */
export interface DeliveredRecord {
  readonly sequenceNumber: string;
  /** The stream's approximate arrival time, ms since epoch. */
  readonly arrivalMs: number;
  readonly shardId: string;
  readonly data: Uint8Array;
}
