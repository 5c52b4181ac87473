export interface DeliveredRecord {
  /** Decimal digits. */
  readonly sequenceNumber: string;
  /** When the record arrived in the stream, as Kinesis says ("approximate"), ms since epoch. */
  readonly arrivalMs: number;
  readonly shardId: string;
  readonly data: Uint8Array;
}
