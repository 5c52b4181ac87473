import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { bucketKeys } from '../platform/keys';
import type { DeliveredRecord } from '../stream/record-decoder';

/**
 * Stores records that cannot be decoded, or that a store refuses for their content. Each record becomes an object with
 * its bytes. The object's key contains the record's shard and sequence number.
 */
export class S3Quarantine {
  constructor(
    private readonly client: S3Client,
    private readonly bucket: string,
  ) {}

  async put({ shardId, sequenceNumber, arrivalMs, data }: DeliveredRecord, reason: string): Promise<void> {
    await this.client.send(
      new PutObjectCommand({
        Bucket: this.bucket,
        // The key is the same at each delivery, so a record that is delivered again overwrites its own object.
        Key: bucketKeys.quarantine(shardId, sequenceNumber),
        Body: data,
        Metadata: { arrival: String(arrivalMs), reason: reason.replace(/[^\x20-\x7e]/g, '?').slice(0, 1000) },
      }),
    );
  }
}
