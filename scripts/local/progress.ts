import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { Redis } from 'ioredis';
import { BUCKET_PREFIX } from '../../shared/platform/names';
import { localAws } from './provision';
import type { RunningStack } from './stack';

const EVERY_MS = 30_000;

/** Prints progress every half minute: samples received, consumer lag, and the size of each tier. */
export function startProgress({ addresses, host }: RunningStack, report: (line: string) => void): () => void {
  const aws = localAws(Number(new URL(addresses.awsEndpoint).port));
  const redis = new Redis(addresses.redisUrl);
  redis.on('error', () => {});
  const dynamodb = new DynamoDBClient(aws);
  const s3 = new S3Client({ ...aws, forcePathStyle: true });
  const look = async () => {
    const [keys, info, table, objects] = await Promise.all([
      redis.dbsize(),
      redis.info('memory'),
      dynamodb.send(new DescribeTableCommand({ TableName: addresses.table })),
      s3.send(new ListObjectsV2Command({ Bucket: addresses.bucket, Prefix: BUCKET_PREFIX.archive })),
    ]);
    const memory = /used_memory_human:(\S+)/.exec(info)?.[1] ?? '?';
    const { samples, lagMs } = host.progress;
    report(
      `${samples} samples in, consumer lag ${(lagMs / 1000).toFixed(1)} s | ` +
        `hot ${keys} keys, ${memory} | warm ${table.Table?.ItemCount ?? 0} items | cold ${objects.KeyCount ?? 0} objects`,
    );
  };
  const timer = setInterval(
    () => void look().catch((error: Error) => report(`progress: ${error.message}`)),
    EVERY_MS,
  );
  return () => {
    clearInterval(timer);
    redis.disconnect();
    dynamodb.destroy();
    s3.destroy();
  };
}
