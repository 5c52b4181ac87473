/** A record to be put into the stream. */
export interface OutgoingRecord {
  readonly partitionKey: string;
  readonly data: Buffer;
}
