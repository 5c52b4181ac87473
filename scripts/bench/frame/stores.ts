import { join } from 'node:path';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { Redis } from 'ioredis';
import { ENV, TABLE_KEYS } from '../../../shared/platform/names';
import { parseSettings } from '../../../shared/platform/settings';
import { type AwsAddress, localAws } from '../../local/provision';
import { freePort } from '../../local/server-process';
import { type Server, startAws, startHotServer } from '../../local/servers';
import type { Frame } from './frame';

/**
 * A real Valkey, the stand-in for AWS with tables and bucket, and the environment that points functions to
 * them.
 */
export interface Stores {
  readonly hot: Server;
  readonly aws: Server;
  readonly redis: Redis;
  readonly redisUrl: string;
  readonly address: AwsAddress;
  readonly environment: NodeJS.ProcessEnv;
}

const META_TABLE = 'bench-meta';
const WARM_TABLE = 'bench-warm';
const BUCKET = 'bench-bucket';

/** Starts the stores. They end with the run. */
export async function startStores(frame: Frame): Promise<Stores> {
  const lost = (what: string) => () => {
    throw new Error(`${what} ended in the middle of the benchmark`);
  };
  const hot = await startHotServer(join(frame.dir, 'hot'), await freePort(), () => {}, lost('the hot tier'));
  frame.atEnd(() => hot.stop());
  const aws = await startAws(frame.dir, await freePort(), () => {}, lost('the stand-in for AWS'));
  frame.atEnd(() => aws.stop());
  const address = localAws(aws.port);
  const dynamodb = new DynamoDBClient(address);
  for (const TableName of [META_TABLE, WARM_TABLE])
    await dynamodb.send(
      new CreateTableCommand({
        TableName,
        KeySchema: [
          { AttributeName: TABLE_KEYS.partition, KeyType: 'HASH' },
          { AttributeName: TABLE_KEYS.sort, KeyType: 'RANGE' },
        ],
        AttributeDefinitions: [
          { AttributeName: TABLE_KEYS.partition, AttributeType: 'S' },
          { AttributeName: TABLE_KEYS.sort, AttributeType: 'S' },
        ],
        BillingMode: 'PAY_PER_REQUEST',
      }),
    );
  dynamodb.destroy();
  const s3 = new S3Client({ ...address, forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: BUCKET }));
  s3.destroy();
  const redisUrl = `redis://127.0.0.1:${hot.port}`;
  const redis = new Redis(redisUrl);
  frame.atEnd(() => redis.disconnect());
  return {
    hot,
    aws,
    redis,
    redisUrl,
    address,
    environment: {
      PATH: process.env.PATH,
      AWS_REGION: address.region,
      AWS_ACCESS_KEY_ID: address.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: address.credentials.secretAccessKey,
      AWS_ENDPOINT_URL: address.endpoint,
      [ENV.settings]: JSON.stringify(parseSettings({})),
      [ENV.metaTable]: META_TABLE,
      [ENV.warmTable]: WARM_TABLE,
      [ENV.bucket]: BUCKET,
      [ENV.redis]: redisUrl,
    },
  };
}
