import { DeleteObjectCommand, ListObjectsV2Command, NoSuchKey, type S3Client } from '@aws-sdk/client-s3';
import { getObject } from '../platform/object-body';

/** An object of the bucket that can be redriven. */
export interface RedriveObject {
  readonly key: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

/**
 * Reads and deletes the objects in the bucket that can be redriven, that is, ingested again:
 *
 * - quarantined records, which the ingester could not decode
 * - dead letters: batches that the event source mapping gave up on
 */
export class S3RedriveStore {
  constructor(
    private readonly client: S3Client,
    private readonly bucket: string,
  ) {}

  /** Lists up to `most` objects in key order, starting after the key `after`. */
  async list(
    prefix: string,
    after: string | undefined,
    most: number,
  ): Promise<{ readonly objects: readonly RedriveObject[]; readonly hasMore: boolean }> {
    const { Contents = [], IsTruncated = false } = await this.client.send(
      new ListObjectsV2Command({
        Bucket: this.bucket,
        Prefix: prefix,
        MaxKeys: most,
        ...(after ? { StartAfter: after } : {}),
      }),
    );
    const objects = Contents.map(({ Key, Size, LastModified }) => ({
      key: Key!,
      bytes: Size ?? 0,
      modifiedMs: LastModified?.getTime() ?? 0,
    }));
    // Use IsTruncated, not the number of keys: S3 may return fewer keys than requested although more follow.
    return { objects, hasMore: IsTruncated };
  }

  /** Reads an object. Returns undefined if the object no longer exists. */
  async read(
    key: string,
  ): Promise<{ body: Uint8Array; metadata: Readonly<Record<string, string>> } | undefined> {
    try {
      const { bytes, Metadata = {} } = await getObject(this.client, { Bucket: this.bucket, Key: key });
      return { body: bytes, metadata: Metadata };
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined;
      throw error;
    }
  }

  async delete(key: string): Promise<void> {
    await this.client.send(new DeleteObjectCommand({ Bucket: this.bucket, Key: key }));
  }
}
