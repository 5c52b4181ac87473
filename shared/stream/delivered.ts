export interface DeliveredRecord {
  /** The record's sequence number in its shard, in decimal digits. */
  readonly sequenceNumber: string;
  /** When the record arrived in the stream, as Unix time in ms. Kinesis calls this time "approximate". */
  readonly arrivalMs: number;
  readonly shardId: string;
  readonly data: Uint8Array;
}
