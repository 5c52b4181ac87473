import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { DeliveredRecord } from '../stream/delivered';
import type { IngestAgain, SetAside, SetAsidePage } from './redrive';

/** The bucket's objects that are not archive. */
export class S3SetAside implements SetAside {
  constructor(
    private readonly client: S3Client,
    private readonly bucket: string,
  ) {}

  async list(prefix: string, after: string | undefined, most: number): Promise<SetAsidePage> {
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
    // A page may be short of what was asked for although there are more.
    return { objects, hasMore: IsTruncated };
  }

  async read(key: string) {
    try {
      const { Body, Metadata = {} } = await this.client.send(
        new GetObjectCommand({ Bucket: this.bucket, Key: key }),
      );
      return { body: await Body!.transformToByteArray(), metadata: Metadata };
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined;
      throw error;
    }
  }

  async delete(key: string): Promise<void> {
    await this.client.send(new DeleteObjectCommand({ Bucket: this.bucket, Key: key }));
  }
}

/** What the replayer is invoked with, apart from the batches of a replay. */
export interface RedriveEvent {
  readonly redrive: readonly {
    readonly shardId: string;
    readonly sequenceNumber: string;
    readonly arrivalMs: number;
    /** Base64. */
    readonly data: string;
  }[];
}

/** Has the replayer ingest: it is in the VPC, where the hot tier is. */
export function replayerIngest(client: LambdaClient, functionName: string): IngestAgain {
  return async (records) => {
    const event: RedriveEvent = {
      redrive: records.map(({ data, shardId, sequenceNumber, arrivalMs }) => ({
        shardId,
        sequenceNumber,
        arrivalMs,
        data: Buffer.from(data).toString('base64'),
      })),
    };
    const { FunctionError, Payload } = await client.send(
      new InvokeCommand({ FunctionName: functionName, Payload: Buffer.from(JSON.stringify(event)) }),
    );
    const text = Buffer.from(Payload ?? []).toString('utf8');
    // Killed or out of time, it says nothing of its records: all are driven again.
    if (FunctionError !== undefined)
      return { failed: records.map(({ sequenceNumber }) => sequenceNumber), quarantined: [] };
    return JSON.parse(text) as Awaited<ReturnType<IngestAgain>>;
  };
}

export function redrivenRecords({ redrive }: RedriveEvent): DeliveredRecord[] {
  return redrive.map((record) => ({ ...record, data: Buffer.from(record.data, 'base64') }));
}
