import {
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  CreateTableCommand,
  DeleteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  paginateQuery,
  QueryCommand,
  ScanCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import {
  CreateStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
  ListShardsCommand,
  PutRecordsCommand,
} from '@aws-sdk/client-kinesis';
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { localAws } from '../../scripts/local/provision';
import { startAws } from '../../scripts/local/servers';
import { DynamoDbModel } from '../../scripts/simulate/dynamodb';
import { callOf, respond, type SdkRequest } from '../../scripts/simulate/http';
import { KinesisModel } from '../../scripts/simulate/kinesis';
import { S3Model } from '../../scripts/simulate/s3';
import { temporaryDir } from '../support/temporary-dir';
import { until } from '../support/until';

interface Clients {
  readonly dynamodb: DynamoDBClient;
  readonly kinesis: KinesisClient;
  readonly s3: S3Client;
  stop(): Promise<void>;
}

const [TABLE, STREAM, BUCKET] = ['table', 'stream', 'bucket'];

async function standIn(): Promise<Clients> {
  const server = await startAws(
    temporaryDir(),
    () => {},
    () => {},
  );
  const aws = localAws(server.port);
  const clients = {
    dynamodb: new DynamoDBClient(aws),
    kinesis: new KinesisClient({ ...aws, requestHandler: new NodeHttpHandler() }),
    s3: new S3Client({ ...aws, forcePathStyle: true }),
  };
  await clients.dynamodb.send(
    new CreateTableCommand({
      TableName: TABLE,
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: ['pk', 'sk'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      BillingMode: 'PAY_PER_REQUEST',
    }),
  );
  await clients.kinesis.send(new CreateStreamCommand({ StreamName: STREAM, ShardCount: 2 }));
  await until(
    'the stream has its shards',
    async () => (await clients.kinesis.send(new ListShardsCommand({ StreamName: STREAM }))).Shards ?? [],
    (shards) => shards.length === 2,
  );
  await clients.s3.send(new CreateBucketCommand({ Bucket: BUCKET }));
  return { ...clients, stop: () => server.stop() };
}

async function models(): Promise<Clients> {
  const stores = {
    dynamodb: new DynamoDbModel(Date.now),
    kinesis: new KinesisModel(Date.now, [1, 0]),
    s3: new S3Model(Date.now),
  };
  stores.dynamodb.createTable(TABLE);
  const requestHandler = {
    metadata: { handlerProtocol: 'http/1.1' },
    handle: async (request: SdkRequest) => ({ response: respond(callOf(request), stores) }),
    destroy: () => {},
    updateHttpClientConfig: () => {},
    httpHandlerConfigs: () => ({}),
  };
  const { region, credentials } = localAws(0);
  const options = { region, credentials, requestHandler: requestHandler as never };
  return {
    dynamodb: new DynamoDBClient(options),
    kinesis: new KinesisClient(options),
    s3: new S3Client(options),
    stop: async () => {},
  };
}

const item = (pk: string, sk: string, more: Record<string, { S: string } | { N: string }> = {}) => ({
  pk: { S: pk },
  sk: { S: sk },
  ...more,
});

describe.each([
  { name: 'the stand-in', start: standIn },
  { name: "the simulation's models", start: models },
])('$name', ({ start }) => {
  let clients: Clients;
  beforeAll(async () => {
    clients = await start();
  });
  afterAll(() => clients.stop());

  const put = (Item: ReturnType<typeof item>, ConditionExpression?: string, values?: object) =>
    clients.dynamodb.send(
      new PutItemCommand({
        TableName: TABLE,
        Item,
        ConditionExpression,
        ...(values && { ExpressionAttributeValues: values as never }),
      }),
    );
  const get = async (pk: string, sk: string) =>
    (
      await clients.dynamodb.send(
        new GetItemCommand({ TableName: TABLE, Key: item(pk, sk), ConsistentRead: true }),
      )
    ).Item;

  test('a conditional put refuses an item that exists, and another revision', async () => {
    await put(item('put', 'a', { revision: { S: '1' } }), 'attribute_not_exists(pk)');
    await expect(put(item('put', 'a'), 'attribute_not_exists(pk)')).rejects.toThrow(
      expect.objectContaining({ name: 'ConditionalCheckFailedException' }),
    );
    const condition = 'attribute_not_exists(pk) OR revision = :revision';
    await expect(put(item('put', 'a'), condition, { ':revision': { S: '2' } })).rejects.toThrow();
    await put(item('put', 'a', { revision: { S: '2' } }), condition, { ':revision': { S: '1' } });
    expect(await get('put', 'a')).toEqual(item('put', 'a', { revision: { S: '2' } }));
  });

  test('an update sets, adds, removes, and makes an item that is missing', async () => {
    const update = (UpdateExpression: string, values?: object, more: object = {}) =>
      clients.dynamodb.send(
        new UpdateItemCommand({
          TableName: TABLE,
          Key: item('update', 'a'),
          UpdateExpression,
          ...(values && { ExpressionAttributeValues: values as never }),
          ...more,
        }),
      );
    await update('SET firstMs = if_not_exists(firstMs, :one) ADD n :two', {
      ':one': { S: '1' },
      ':two': { N: '2' },
    });
    const { Attributes } = await update(
      'SET firstMs = if_not_exists(firstMs, :other), n = n + :two',
      { ':other': { S: '9' }, ':two': { N: '2' } },
      { ReturnValues: 'ALL_NEW' },
    );
    expect(Attributes).toEqual(item('update', 'a', { firstMs: { S: '1' }, n: { N: '4' } }));
    await update('REMOVE #n', undefined, { ExpressionAttributeNames: { '#n': 'firstMs' } });
    expect(await get('update', 'a')).toEqual(item('update', 'a', { n: { N: '4' } }));
    const low = { ':limit': { N: '4' }, ':x': { S: 'x' } };
    await expect(update('SET x = :x', low, { ConditionExpression: 'n < :limit' })).rejects.toThrow();
    await update('SET x = :x', low, { ConditionExpression: 'n < :limit OR n IN (:limit)' });
    expect((await get('update', 'a'))?.x).toEqual({ S: 'x' });
  });

  test('a query gives a range in order, by pages, and filters after a page is cut', async () => {
    for (const sk of ['b', 'a1', 'a3', 'a2', 'c'])
      await put(item('query', sk, { n: { N: sk.slice(1) || '0' } }));
    const query = {
      TableName: TABLE,
      ConsistentRead: true,
      ExpressionAttributeValues: { ':pk': { S: 'query' }, ':a': { S: 'a' } },
    };
    const input = { ...query, KeyConditionExpression: 'pk = :pk AND begins_with(sk, :a)' };
    const found: unknown[] = [];
    for await (const page of paginateQuery({ client: clients.dynamodb, pageSize: 2 }, { ...input })) {
      expect(page.Items!.length).toBeLessThanOrEqual(2);
      found.push(...page.Items!.map(({ sk }) => sk!.S));
    }
    expect(found).toEqual(['a1', 'a2', 'a3']);
    const last = await clients.dynamodb.send(
      new QueryCommand({ ...input, ScanIndexForward: false, Limit: 1, ProjectionExpression: 'sk' }),
    );
    expect(last.Items).toEqual([{ sk: { S: 'a3' } }]);
    const values = { ...query.ExpressionAttributeValues, ':two': { N: '2' } };
    const filtered = await clients.dynamodb.send(
      new QueryCommand({
        ...input,
        ExpressionAttributeValues: values,
        FilterExpression: 'n = :two',
        Limit: 1,
      }),
    );
    expect(filtered).toMatchObject({ Items: [], ScannedCount: 1, LastEvaluatedKey: item('query', 'a1') });
    const between = await clients.dynamodb.send(
      new QueryCommand({
        TableName: TABLE,
        KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
        ExpressionAttributeValues: { ':pk': { S: 'query' }, ':from': { S: 'a2' }, ':to': { S: 'b' } },
      }),
    );
    expect(between.Items!.map(({ sk }) => sk!.S)).toEqual(['a2', 'a3', 'b']);
  });

  test('a scan finds items of every partition', async () => {
    for (const pk of ['scan-1', 'scan-2']) await put(item(pk, 'a'));
    const { Items } = await clients.dynamodb.send(
      new ScanCommand({
        TableName: TABLE,
        FilterExpression: 'begins_with(pk, :scan)',
        ExpressionAttributeValues: { ':scan': { S: 'scan' } },
      }),
    );
    expect(Items!.map(({ pk }) => pk!.S).sort()).toEqual(['scan-1', 'scan-2']);
  });

  test('inserts are judged one by one, and a batch reads what exists', async () => {
    const Statement = `INSERT INTO "${TABLE}" VALUE {'pk': ?, 'sk': ?}`;
    const insert = (...sks: string[]) =>
      clients.dynamodb.send(
        new BatchExecuteStatementCommand({
          Statements: sks.map((sk) => ({ Statement, Parameters: [{ S: 'batch' }, { S: sk }] })),
        }),
      );
    await insert('a');
    const { Responses } = await insert('a', 'b');
    expect(Responses!.map((response) => response.Error?.Code)).toEqual(['DuplicateItem', undefined]);
    const read = await clients.dynamodb.send(
      new BatchGetItemCommand({
        RequestItems: {
          [TABLE]: { Keys: ['a', 'b', 'c'].map((sk) => item('batch', sk)), ConsistentRead: true },
        },
      }),
    );
    expect(read.Responses![TABLE]!.map(({ sk }) => sk!.S).sort()).toEqual(['a', 'b']);
  });

  test('a transaction does everything, or nothing and says why', async () => {
    const transact = (condition: string) =>
      clients.dynamodb.send(
        new TransactWriteItemsCommand({
          TransactItems: [
            { Put: { TableName: TABLE, Item: item('transact', 'a') } },
            { Put: { TableName: TABLE, Item: item('transact', 'b'), ConditionExpression: condition } },
          ],
        }),
      );
    await expect(transact('attribute_exists(pk)')).rejects.toMatchObject({
      name: 'TransactionCanceledException',
      CancellationReasons: [{ Code: 'None' }, { Code: 'ConditionalCheckFailed' }],
    });
    expect(await get('transact', 'a')).toBeUndefined();
    await transact('attribute_not_exists(pk)');
    expect(await get('transact', 'b')).toBeDefined();
  });

  test('a deletion of the wrong revision does nothing', async () => {
    await put(item('delete', 'a', { revision: { S: '1' } }));
    const remove = (revision: string) =>
      clients.dynamodb.send(
        new DeleteItemCommand({
          TableName: TABLE,
          Key: item('delete', 'a'),
          ConditionExpression: 'attribute_not_exists(pk) OR revision = :revision',
          ExpressionAttributeValues: { ':revision': { S: revision } },
        }),
      );
    await expect(remove('2')).rejects.toThrow();
    await remove('1');
    await remove('1');
    expect(await get('delete', 'a')).toBeUndefined();
  });

  test('a stream keeps the order of a shard, and iterators begin where they say', async () => {
    const { Records } = await clients.kinesis.send(
      new PutRecordsCommand({
        StreamName: STREAM,
        Records: ['a', 'b', 'c'].map((text) => ({ PartitionKey: 'key', Data: Buffer.from(text) })),
      }),
    );
    const [{ ShardId, SequenceNumber }] = Records as [{ ShardId: string; SequenceNumber: string }];
    const readFrom = async (from: object) => {
      const { ShardIterator } = await clients.kinesis.send(
        new GetShardIteratorCommand({ StreamName: STREAM, ShardId, ...from } as never),
      );
      const output = await clients.kinesis.send(new GetRecordsCommand({ ShardIterator }));
      return output.Records!.map(({ Data }) => Buffer.from(Data!).toString());
    };
    expect(await readFrom({ ShardIteratorType: 'TRIM_HORIZON' })).toEqual(['a', 'b', 'c']);
    const after = { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', StartingSequenceNumber: SequenceNumber };
    expect(await readFrom(after)).toEqual(['b', 'c']);
    expect(await readFrom({ ShardIteratorType: 'LATEST' })).toEqual([]);
    const numbers = Records!.map((record) => BigInt(record.SequenceNumber!));
    expect(numbers).toEqual(numbers.toSorted((a, b) => (a < b ? -1 : 1)));
  });

  test('an explicit hash key chooses the shard whose range has it', async () => {
    const { Shards = [] } = await clients.kinesis.send(new ListShardsCommand({ StreamName: STREAM }));
    const { Records = [] } = await clients.kinesis.send(
      new PutRecordsCommand({
        StreamName: STREAM,
        Records: Shards.map(({ HashKeyRange }) => ({
          PartitionKey: 'any',
          ExplicitHashKey: HashKeyRange!.EndingHashKey!,
          Data: Buffer.from('x'),
        })),
      }),
    );
    expect(Records.map((record) => record.ShardId)).toEqual(Shards.map((shard) => shard.ShardId));
  });

  const putObject = (Key: string, Body: string, more: object = {}) =>
    clients.s3.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body, ...more }));

  test('conditional puts of objects compare ETags', async () => {
    const { ETag } = await putObject('put', 'one', { IfNoneMatch: '*' });
    await expect(putObject('put', 'two', { IfNoneMatch: '*' })).rejects.toMatchObject({
      name: 'PreconditionFailed',
    });
    await putObject('put', 'two', { IfMatch: ETag });
    await expect(putObject('put', 'three', { IfMatch: ETag })).rejects.toMatchObject({
      name: 'PreconditionFailed',
    });
  });

  test('ranges are read from the front and from the end, with If-Match', async () => {
    const { ETag } = await putObject('range', '0123456789', { Metadata: { reason: 'why' } });
    const read = async (more: object) => {
      const output = await clients.s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'range', ...more }));
      return [await output.Body!.transformToString(), output.ContentRange];
    };
    expect(await read({})).toEqual(['0123456789', undefined]);
    expect(await read({ Range: 'bytes=2-4', IfMatch: ETag })).toEqual(['234', 'bytes 2-4/10']);
    expect(await read({ Range: 'bytes=-3' })).toEqual(['789', 'bytes 7-9/10']);
    await expect(read({ IfMatch: '"other"' })).rejects.toMatchObject({ $metadata: { httpStatusCode: 412 } });
    const head = await clients.s3.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'range' }));
    expect(head).toMatchObject({ ContentLength: 10, ETag, Metadata: { reason: 'why' } });
    await clients.s3.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: 'range' }));
    await expect(read({})).rejects.toMatchObject({ name: 'NoSuchKey' });
  });

  test('a list has pages in order, below a prefix', async () => {
    for (const key of ['list/b', 'list/a', 'list/c', 'other']) await putObject(key, 'x');
    const list = (more: object) =>
      clients.s3.send(new ListObjectsV2Command({ Bucket: BUCKET, Prefix: 'list/', ...more }));
    const first = await list({ MaxKeys: 2 });
    expect(first.Contents!.map(({ Key }) => Key)).toEqual(['list/a', 'list/b']);
    const second = await list({ ContinuationToken: first.NextContinuationToken });
    expect(second).toMatchObject({ IsTruncated: false, Contents: [{ Key: 'list/c', Size: 1 }] });
    expect((await list({ StartAfter: 'list/b' })).Contents!.map(({ Key }) => Key)).toEqual(['list/c']);
    const { Versions } = await clients.s3.send(
      new ListObjectVersionsCommand({ Bucket: BUCKET, Prefix: 'list/' }),
    );
    expect(Versions!.map(({ Key }) => Key)).toEqual(['list/a', 'list/b', 'list/c']);
  });

  test('an upload of parts becomes one object once it is completed', async () => {
    const target = { Bucket: BUCKET, Key: 'parts' };
    const { UploadId } = await clients.s3.send(new CreateMultipartUploadCommand(target));
    const bodies = [Buffer.alloc(5 * 1024 * 1024, 'a'), Buffer.from('b')];
    const Parts = await Promise.all(
      bodies.map(async (Body, i) => {
        const { ETag } = await clients.s3.send(
          new UploadPartCommand({ ...target, UploadId, PartNumber: i + 1, Body }),
        );
        return { ETag, PartNumber: i + 1 };
      }),
    );
    await clients.s3.send(
      new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts } }),
    );
    const head = await clients.s3.send(new HeadObjectCommand(target));
    expect(head.ContentLength).toBe(5 * 1024 * 1024 + 1);
  });
});
