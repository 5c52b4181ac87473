/** Forms batches and interprets their results like an event source mapping, as Lambda's documentation describes it. */

/** One record of a Kinesis shard. */
export interface ShardRecord {
  readonly sequenceNumber: string;
  readonly partitionKey: string;
  readonly arrivalMs: number;
  readonly data: Uint8Array;
}

/** Lambda's limit on a batch's payload, base64 included. */
export const MAX_PAYLOAD_BYTES = 6_000_000;

/** Returns how many records from the start form the next batch: at least one, even if that record is too large. */
export function batchLength(records: readonly ShardRecord[], batchSize: number): number {
  let bytes = 0;
  for (let i = 0; i < records.length && i < batchSize; i++) {
    bytes += Math.ceil(records[i]!.data.length / 3) * 4 + 512;
    if (bytes > MAX_PAYLOAD_BYTES) return Math.max(1, i);
  }
  return Math.min(records.length, batchSize);
}

/**
 * Returns how many records from the start of a batch are done, according to the function's result.
 *
 * The lowest sequence number that is reported as failed is the checkpoint: Lambda delivers its record and all later
 * records again. An empty or missing list means success. A malformed list, or one that names a record of another batch,
 * means that everything failed.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-batchfailurereporting.html
 */
export function doneCount(
  records: readonly ShardRecord[],
  response: unknown,
  reportsItemFailures: boolean,
): number {
  if (!reportsItemFailures || response === null || response === undefined) return records.length;
  if (typeof response !== 'object') return 0;
  const failures = (response as { batchItemFailures?: unknown }).batchItemFailures;
  if (failures === null || failures === undefined) return records.length;
  if (!Array.isArray(failures)) return 0;
  let first = records.length;
  for (const failure of failures) {
    const identifier = (failure as { itemIdentifier?: unknown } | null)?.itemIdentifier;
    const index = records.findIndex(({ sequenceNumber }) => sequenceNumber === identifier);
    if (index < 0) return 0;
    first = Math.min(first, index);
  }
  return first;
}

/** A batch as Lambda hands it to the function. */
export function kinesisEvent(records: readonly ShardRecord[], shardId: string, streamArn: string) {
  return {
    Records: records.map(({ sequenceNumber, partitionKey, arrivalMs, data }) => ({
      kinesis: {
        kinesisSchemaVersion: '1.0',
        partitionKey,
        sequenceNumber,
        data: Buffer.from(data.buffer, data.byteOffset, data.length).toString('base64'),
        approximateArrivalTimestamp: arrivalMs / 1000,
      },
      eventSource: 'aws:kinesis',
      eventVersion: '1.0',
      eventID: `${shardId}:${sequenceNumber}`,
      eventName: 'aws:kinesis:record',
      invokeIdentityArn: 'arn:aws:iam::000000000000:role/local',
      awsRegion: 'us-east-1',
      eventSourceARN: streamArn,
    })),
  };
}
