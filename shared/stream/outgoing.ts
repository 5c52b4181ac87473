import type { PartitionRef } from '../model/placement';

/** A record to be put into the stream. */
export interface OutgoingRecord {
  readonly partitionKey: string;
  readonly data: Buffer;
}

/**
 * Returns the Kinesis partition key of a partition. One key for all records of a partition puts them into one shard,
 * which keeps their order.
 */
export function partitionKeyOf({ tenantId, partition }: PartitionRef): string {
  return `${tenantId}:${partition}`;
}
