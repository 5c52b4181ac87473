import { DeleteItemCommand, DynamoDBClient, paginateScan } from '@aws-sdk/client-dynamodb';
import { ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import type { ImportResult } from '../../functions/importer/import-event';
import type { Fault } from '../../scripts/faults/call';
import { Faults } from '../../scripts/faults/faults';
import { localAws } from '../../scripts/local/provision';
import { type RunningStack, startStack } from '../../scripts/local/stack';
import { physicalName } from '../../scripts/local/template';
import { archive } from '../../scripts/ops/archive';
import { drain } from '../../scripts/ops/drain';
import { Functions } from '../../scripts/ops/invoke';
import { writeRequestOf } from '../../scripts/soak/encodings';
import { ColdTier } from '../../shared/cold/cold-tier';
import { labelsOf } from '../../shared/model/labels';
import { tenantIdOf } from '../../shared/model/placement';
import type { SampleCount } from '../../shared/operations/sample-commands';
import { functionName } from '../../shared/platform/names';
import { Client } from '../support/client';
import { SHARED_SETTINGS } from '../support/local-stack';
import { until } from '../support/until';

const HOUR = 3_600;

/** After a run of all tests, a right that no test has used fails the run (aws-run-ended.cjs). */
describe('functions use rights that they need rarely:', () => {
  const faults = new Faults();
  const start = Math.floor(Date.now() / 60_000) * 60 - 2 * HOUR;
  let stack: RunningStack;
  let functions: Functions;
  let client: Client;
  let dynamodb: DynamoDBClient;

  beforeAll(async () => {
    const settings = SHARED_SETTINGS.fewPartitions;
    stack = await startStack({ port: 0, dataDir: undefined, settings, report: () => {}, faults });
    functions = new Functions(stack.addresses.url);
    client = new Client(stack.addresses.url, stack.addresses.apiKey, true);
    dynamodb = new DynamoDBClient(aws());
  });

  afterAll(async () => {
    faults.off();
    dynamodb?.destroy();
    functions?.close();
    await stack?.stop();
  });

  const aws = () => localAws(Number(new URL(stack.addresses.awsEndpoint).port));

  /** Lists the operations of a function's calls while `work` runs. The first call of `victim` gets a fault. */
  async function callsOf(name: string, work: () => Promise<unknown>, victim?: string): Promise<Set<string>> {
    const calls = new Set<string>();
    const watching = faults.rule({
      matches: (call) => call.functionName === name,
      fault: ({ operation }): Fault | undefined => {
        const isFirst = !calls.has(operation);
        calls.add(operation);
        return isFirst && operation === victim ? { kind: 'lose-reply' } : undefined;
      },
    });
    await work();
    watching.lift();
    return calls;
  }

  /** Evaluates an instant query at the samples' time. */
  async function query(expression: string): Promise<string | undefined> {
    const path = `/prometheus/api/v1/query?query=${encodeURIComponent(expression)}&time=${start}`;
    const { data } = await client.json<{ data: { result: { value: [number, string] }[] } }>('GET', path);
    return data.result[0]?.value[1];
  }

  test('the importer finds a source in the place that its own lost call has given it', async () => {
    const labels = labelsOf(['__name__', 'm'], ['sensor', 's1']);
    const body = Buffer.from(writeRequestOf([{ labels, time: start, value: 7 }])).toString('base64');
    const calls = await callsOf(
      'importer',
      async () => {
        const imported = await functions.invoke<ImportResult>('importer', { tenant: 'default', body });
        expect(imported).toMatchObject({ samples: 1, refused: 0 });
      },
      'BatchExecuteStatement ',
    );
    expect([...calls]).toContain('UpdateItem layouts SET expiresAt');
    await until(
      'the sample',
      () => query('m{sensor="s1"}'),
      (value) => value === '7',
    );
  });

  test('query reads windows and archived days of many sources by their keys', async () => {
    const hosts = await Promise.all(Array.from({ length: 40 }, (_, i) => client.createHost(`many${i}`)));
    await client.post(hosts.map((hostId) => ({ hostId, name: 'many', time: start, value: 1 })));
    const all = () =>
      until(
        'all sources',
        () => query('sum(many)'),
        (sum) => sum === '40',
      );
    await all();
    await drain(functions, () => {});
    expect([...(await callsOf('query', all))]).toContain('BatchGetItem ');
    await archive(functions, { before: 8.64e15, purge: true }, () => {});
    expect([...(await callsOf('query', all))]).toContain('BatchGetItem ');
  });

  test('the operator counts the samples of a host of many groups', async () => {
    const host = await client.createHost('large');
    const points = Array.from({ length: 2_100 }, (_, i) => ({
      hostId: host,
      name: `large${i}`,
      time: start,
      value: i,
    }));
    await client.post(points);
    await until(
      'all series',
      () => query('count({__name__=~"large.*"})'),
      (count) => count === '2100',
    );
    await drain(functions, () => {});
    const calls = await callsOf('operator', async () => {
      const range = { from: (start - 60) * 1000, to: (start + 60) * 1000 };
      const counted = await functions.invoke<SampleCount>('operator', {
        command: 'count',
        host,
        name: 'large*',
        ...range,
      });
      expect(counted.series.map(({ samples }) => samples)).toEqual(points.map(() => 1));
    });
    expect([...calls]).toContain('BatchGetItem ');
  });

  test('the operator inserts an entry that the index of series lacks', async () => {
    const TableName = physicalName('MetaTable');
    const entries = async () => {
      const keys = [];
      const asked = {
        TableName,
        FilterExpression: 'begins_with(pk, :index)',
        ExpressionAttributeValues: { ':index': { S: `index#${tenantIdOf('default')}` } },
      };
      for await (const { Items = [] } of paginateScan({ client: dynamodb }, asked))
        keys.push(...Items.map(({ pk, sk }) => ({ pk: pk!, sk: sk! })));
      return keys;
    };
    const [removed] = await entries();
    await dynamodb.send(new DeleteItemCommand({ TableName, Key: removed! }));
    const rebuild = () => functions.invoke('operator', { command: 'index rebuild', tenant: 'default' });
    expect([...(await callsOf('operator', rebuild))]).toContain('BatchExecuteStatement ');
    expect(await entries()).toContainEqual(removed);
  });

  test("the archiver's role allows an upload in parts, and to give it up", async () => {
    const { credentials, ...rest } = aws();
    const asArchiver = { ...credentials, sessionToken: functionName('local', 'archiver') };
    const s3 = new S3Client({ ...rest, credentials: asArchiver, forcePathStyle: true });
    const Bucket = stack.addresses.bucket;
    const cold = new ColdTier(s3, Bucket);
    const upload = cold.begin(
      cold.newKey({ tenantId: tenantIdOf('default'), partition: 0 }, '2020-01-01', 0),
    );
    const uploads = async () =>
      (await s3Own.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads?.length ?? 0;
    const s3Own = new S3Client({ ...aws(), forcePathStyle: true });
    // The upload's writer calls this for each chunk. A chunk of this size would take seconds to encode.
    const writer = upload as unknown as { add(bytes: Uint8Array): Promise<void> };
    await writer.add(Buffer.alloc(9 * 1024 * 1024));
    expect(await uploads()).toBe(1);
    await upload.abort();
    expect(await uploads()).toBe(0);
    s3.destroy();
    s3Own.destroy();
  });
});
