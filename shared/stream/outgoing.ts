import type { PartitionRef } from '../model/placement';

/** A record to be put into the stream. */
export interface OutgoingRecord {
  readonly partitionKey: string;
  readonly data: Buffer;
}

/** The Kinesis partition key: all records of a partition go to one shard, whose sequence numbers order them. */
export function partitionKeyOf({ tenantId, partition }: PartitionRef): string {
  return `${tenantId}:${partition}`;
}
