import { DynamoDBClient, GetItemCommand, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { readSecret } from '../../scripts/local/operator-secret';
import { localAws } from '../../scripts/local/provision';
import { functionName } from '../../shared/platform/names';
import { failOnBreaks } from '../support/aws-contract';
import { type LocalStack, startLocalStack } from '../support/local-stack';

describe('a call that AWS would refuse', () => {
  let stack: LocalStack;
  let dynamodb: DynamoDBClient;
  let kinesis: KinesisClient;
  let s3: S3Client;
  let sns: SNSClient;
  let lambda: LambdaClient;
  let TableName: string;

  beforeAll(async () => {
    stack = await startLocalStack({});
    const aws = localAws(Number(new URL(stack.awsEndpoint).port));
    TableName = stack.table;
    dynamodb = new DynamoDBClient(aws);
    kinesis = new KinesisClient({ ...aws, requestHandler: new NodeHttpHandler() });
    s3 = new S3Client({ ...aws, forcePathStyle: true });
    sns = new SNSClient(aws);
    const credentials = { accessKeyId: readSecret(stack.url)!, secretAccessKey: 'test' };
    lambda = new LambdaClient({ ...aws, endpoint: stack.url, credentials });
  });
  afterAll(async () => {
    for (const client of [dynamodb, kinesis, s3, sns, lambda]) client?.destroy();
    await stack?.stop();
  });

  const key = { pk: { S: 'p' }, sk: { S: 's' } };
  const put = (item: PutItemCommand['input']['Item'], more: Partial<PutItemCommand['input']> = {}) =>
    dynamodb.send(new PutItemCommand({ TableName, Item: { ...key, ...item }, ...more }));
  const putRecord = (bytes: number, PartitionKey = 'k') =>
    kinesis.send(
      new PutRecordsCommand({
        StreamName: stack.stream,
        Records: [{ Data: Buffer.alloc(bytes), PartitionKey }],
      }),
    );
  const smallParts = async () => {
    const place = { Bucket: stack.bucket, Key: 'parts' };
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand(place));
    const Parts = await Promise.all(
      [1, 2].map(async (PartNumber) => {
        const part = new UploadPartCommand({ ...place, UploadId, PartNumber, Body: Buffer.alloc(1000) });
        return { PartNumber, ETag: (await s3.send(part)).ETag };
      }),
    );
    await s3.send(new CompleteMultipartUploadCommand({ ...place, UploadId, MultipartUpload: { Parts } }));
  };

  test.each<{ name: string; rule: string; call: () => Promise<unknown> }>([
    {
      name: 'a value that no enumeration has',
      rule: 'model',
      call: () => put({}, { ReturnValues: 'EVERYTHING' as never }),
    },
    {
      name: 'a member that is missing',
      rule: 'model',
      call: () => put({}, { TableName: undefined as never }),
    },
    {
      name: 'a text that does not match its pattern',
      rule: 'model',
      call: () =>
        kinesis.send(
          new PutRecordsCommand({ StreamName: 'a b', Records: [{ Data: Buffer.of(1), PartitionKey: 'k' }] }),
        ),
    },
    { name: 'a partition key of 257 characters', rule: 'model', call: () => putRecord(1, 'k'.repeat(257)) },
    {
      name: 'an item of more than 400 KB',
      rule: 'dynamodb.itemBytes',
      call: () => put({ x: { B: Buffer.alloc(409_600) } }),
    },
    {
      name: 'a sort key of more than 1 KB',
      rule: 'dynamodb.sortKeyBytes',
      call: () => put({ sk: { S: 'x'.repeat(1_025) } }),
    },
    {
      name: 'a time to live in milliseconds',
      rule: 'dynamodb.ttlSeconds',
      call: () => put({ expiresAt: { N: String(Date.now()) } }),
    },
    {
      name: 'an item that grows beyond 400 KB',
      rule: 'refused',
      call: async () => {
        await put({ x: { B: Buffer.alloc(300_000) } });
        await dynamodb.send(
          new UpdateItemCommand({
            TableName,
            Key: key,
            UpdateExpression: 'SET y = :y',
            ExpressionAttributeValues: { ':y': { B: Buffer.alloc(200_000) } },
          }),
        );
      },
    },
    {
      name: 'a placeholder that no expression has',
      rule: 'dynamodb.unusedPlaceholders',
      call: () =>
        put(
          {},
          {
            ConditionExpression: 'attribute_not_exists(pk)',
            ExpressionAttributeValues: { ':unused': { S: 'x' } },
          },
        ),
    },
    {
      name: 'an IN of 101 values',
      rule: 'dynamodb.inOperands',
      call: () => {
        const names = Array.from({ length: 101 }, (_, i) => `:v${i}`);
        return put(
          {},
          {
            ConditionExpression: `sk IN (${names.join(', ')})`,
            ExpressionAttributeValues: Object.fromEntries(names.map((name) => [name, { S: name }])),
          },
        );
      },
    },
    { name: 'a record of more than 1 MiB', rule: 'kinesis.recordBytes', call: () => putRecord(1_048_576) },
    {
      name: 'a key of 1,025 bytes',
      rule: 's3.keyBytes',
      call: () =>
        s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key: 'é'.repeat(513), Body: Buffer.of() })),
    },
    {
      name: 'a PUT that is to replace anything but one ETag',
      rule: 's3.putIfNoneMatch',
      call: () =>
        s3.send(
          new PutObjectCommand({ Bucket: stack.bucket, Key: 'k', Body: Buffer.of(), IfNoneMatch: '"etag"' }),
        ),
    },
    {
      name: 'two ranges',
      rule: 's3.ranges',
      call: () => s3.send(new GetObjectCommand({ Bucket: stack.bucket, Key: 'k', Range: 'bytes=0-1,4-5' })),
    },
    { name: 'parts of less than 5 MiB', rule: 's3.partBytes', call: smallParts },
    {
      name: 'a subject of two lines',
      rule: 'sns.subjectControls',
      call: () =>
        sns.send(
          new PublishCommand({ TopicArn: 'arn:aws:sns:us-east-1:0:t', Message: 'm', Subject: 'a\nb' }),
        ),
    },
    {
      name: 'a name that no function has',
      rule: 'model',
      call: () => lambda.send(new InvokeCommand({ FunctionName: 'no name', Payload: Buffer.from('{}') })),
    },
    {
      name: "a call that the function's role does not allow",
      rule: 'rights',
      call: () => {
        const aws = localAws(Number(new URL(stack.awsEndpoint).port));
        const credentials = { ...aws.credentials, sessionToken: functionName('local', 'page') };
        const client = new DynamoDBClient({ ...aws, credentials });
        return client.send(new GetItemCommand({ TableName, Key: key })).finally(() => client.destroy());
      },
    },
  ])('is refused, and fails the test that made it: $name', async ({ rule, call }) => {
    await expect(call()).rejects.toThrow();
    expect(failOnBreaks).toThrow(` ${rule}:`);
  });
});
