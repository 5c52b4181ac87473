import { DynamoDBClient, paginateScan } from '@aws-sdk/client-dynamodb';
import { paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { Redis } from 'ioredis';

export interface StoreAddresses {
  readonly redisUrl: string;
  readonly awsEndpoint: string;
  readonly table: string;
  readonly bucket: string;
}

/** Looks into the three tiers with the stores' own clients, without our code. */
export class Stores {
  readonly redis: Redis;
  readonly dynamodb: DynamoDBClient;
  readonly s3: S3Client;

  constructor(private readonly addresses: StoreAddresses) {
    const aws = {
      endpoint: addresses.awsEndpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    };
    this.redis = new Redis(addresses.redisUrl);
    this.redis.on('error', () => {});
    this.dynamodb = new DynamoDBClient(aws);
    this.s3 = new S3Client({ ...aws, forcePathStyle: true });
  }

  /** Counts the lists of frames in Redis, and the frames in them. */
  async hot(): Promise<{ lists: number; frames: number }> {
    let lists = 0;
    let frames = 0;
    for (const key of await this.redis.keys('*')) {
      if ((await this.redis.type(key)) !== 'list') continue;
      lists++;
      frames += await this.redis.llen(key);
    }
    return { lists, frames };
  }

  /** Counts the items in the warm table, and the bytes of their chunks. */
  async warm(): Promise<{ items: number; bytes: number }> {
    let items = 0;
    let bytes = 0;
    for await (const page of paginateScan({ client: this.dynamodb }, { TableName: this.addresses.table })) {
      for (const item of page.Items ?? []) {
        items++;
        bytes += item.chunk?.B?.length ?? 0;
      }
    }
    return { items, bytes };
  }

  /** Counts the objects in the archive, and their bytes. */
  async cold(): Promise<{ objects: number; bytes: number }> {
    let objects = 0;
    let bytes = 0;
    const pages = paginateListObjectsV2(
      { client: this.s3 },
      { Bucket: this.addresses.bucket, Prefix: 'archive/' },
    );
    for await (const page of pages) {
      for (const { Size } of page.Contents ?? []) {
        objects++;
        bytes += Size ?? 0;
      }
    }
    return { objects, bytes };
  }

  async close(): Promise<void> {
    this.redis.disconnect();
    this.dynamodb.destroy();
    this.s3.destroy();
  }
}
