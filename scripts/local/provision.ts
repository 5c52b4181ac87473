import { CreateTableCommand, DynamoDBClient, ResourceInUseException } from '@aws-sdk/client-dynamodb';
import {
  CreateStreamCommand,
  DescribeStreamSummaryCommand,
  IncreaseStreamRetentionPeriodCommand,
  KinesisClient,
  ResourceInUseException as StreamInUseException,
} from '@aws-sdk/client-kinesis';
import { CreateBucketCommand, HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { TABLE_KEYS } from '../../shared/platform/names';
import { physicalName, REGION, type Stack, type TableResource } from './template';

export interface AwsAddress {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/** Returns the address of the stand-in for AWS, which accepts any credentials. */
export function localAws(port: number): AwsAddress {
  return {
    endpoint: `http://127.0.0.1:${port}`,
    region: REGION,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  };
}

/** Returns a table without a template, with the keys that every table has. */
export function tableOf(logicalId: string): TableResource {
  const keys = [
    { AttributeName: TABLE_KEYS.partition, KeyType: 'HASH' },
    { AttributeName: TABLE_KEYS.sort, KeyType: 'RANGE' },
  ];
  return {
    logicalId,
    keySchema: keys,
    attributes: keys.map(({ AttributeName }) => ({ AttributeName, AttributeType: 'S' })),
  };
}

/** Creates the template's stores if they do not exist. */
export async function provision(
  aws: AwsAddress,
  stack: Pick<Stack, 'tables' | 'streams' | 'buckets'>,
): Promise<void> {
  const dynamodb = new DynamoDBClient(aws);
  const kinesis = new KinesisClient({ ...aws, requestHandler: new NodeHttpHandler() });
  const s3 = new S3Client({ ...aws, forcePathStyle: true });
  try {
    for (const { logicalId, keySchema, attributes } of stack.tables)
      await unless(
        ResourceInUseException,
        dynamodb.send(
          new CreateTableCommand({
            TableName: physicalName(logicalId),
            KeySchema: keySchema as never,
            AttributeDefinitions: attributes as never,
            BillingMode: 'PAY_PER_REQUEST',
          }),
        ),
      );
    for (const { logicalId, shards, retentionHours } of stack.streams) {
      const StreamName = physicalName(logicalId);
      await unless(
        StreamInUseException,
        kinesis.send(new CreateStreamCommand({ StreamName, ShardCount: shards })),
      );
      await untilActive(kinesis, StreamName);
      const { StreamDescriptionSummary } = await kinesis.send(
        new DescribeStreamSummaryCommand({ StreamName }),
      );
      if ((StreamDescriptionSummary?.RetentionPeriodHours ?? 24) < retentionHours)
        await kinesis.send(
          new IncreaseStreamRetentionPeriodCommand({ StreamName, RetentionPeriodHours: retentionHours }),
        );
    }
    for (const { logicalId } of stack.buckets) {
      const Bucket = physicalName(logicalId);
      // On AWS, the owner of a bucket may create it again; the stand-in would empty it.
      const exists = await s3.send(new HeadBucketCommand({ Bucket })).then(
        () => true,
        () => false,
      );
      if (!exists) await s3.send(new CreateBucketCommand({ Bucket }));
    }
  } finally {
    dynamodb.destroy();
    kinesis.destroy();
    s3.destroy();
  }
}

async function untilActive(kinesis: KinesisClient, StreamName: string): Promise<void> {
  for (;;) {
    const { StreamDescriptionSummary } = await kinesis.send(new DescribeStreamSummaryCommand({ StreamName }));
    if (StreamDescriptionSummary?.StreamStatus === 'ACTIVE') return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function unless(expected: new (...args: never[]) => Error, made: Promise<unknown>): Promise<void> {
  await made.catch((error: unknown) => {
    if (!(error instanceof expected)) throw error;
  });
}
