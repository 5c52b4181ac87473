import type { PartitionRef } from '../model/placement';

/** A record to be put into the stream. */
export interface OutgoingRecord {
  readonly partitionKey: string;
  readonly data: Buffer;
}

/**
 * Returns the Kinesis partition key of a partition. So one shard gets all records of the partition, and orders them.
 */
export function partitionKeyOf({ tenantId, partition }: PartitionRef): string {
  return `${tenantId}:${partition}`;
}
