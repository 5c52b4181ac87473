import { DeleteObjectCommand, ListObjectsV2Command, NoSuchKey, type S3Client } from '@aws-sdk/client-s3';
import { getObject } from '../platform/object-body';
import type { RedrivePage, RedriveStore } from './redrive';

/** The {@link RedriveStore} in S3. */
export class S3RedriveStore implements RedriveStore {
  constructor(
    private readonly client: S3Client,
    private readonly bucket: string,
  ) {}

  async list(prefix: string, after: string | undefined, most: number): Promise<RedrivePage> {
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
    // Do not judge by the number of keys: S3 may return fewer than requested although more follow.
    return { objects, hasMore: IsTruncated };
  }

  async read(key: string) {
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
