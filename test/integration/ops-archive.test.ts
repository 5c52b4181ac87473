import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { physicalName } from '../../scripts/local/template';
import { archive, rewriteArchive } from '../../scripts/ops/archive';
import type { ArchiveSql } from '../../scripts/ops/archive-sql';
import type { VerifyResult } from '../../scripts/ops/archive-verify';
import { drain } from '../../scripts/ops/drain';
import { Functions } from '../../scripts/ops/invoke';
import { ColdTier } from '../../shared/cold/cold-tier';
import { HTSD_FORMAT } from '../../shared/cold/htsd-format';
import { Manifest } from '../../shared/cold/manifest';
import { Client } from '../support/client';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { until } from '../support/until';

const run = promisify(execFile);
const DAY = 86_400;
const now = Math.floor(Date.now() / 60_000) * 60;

describe('ops archive', () => {
  let stack: LocalStack;
  let client: Client;
  let functions: Functions;
  let s3: S3Client;
  let dynamodb: DynamoDBClient;
  let host: string;

  beforeAll(async () => {
    stack = await startLocalStack({ settings: { window: '1h', maxSampleAge: '3d' } });
    client = new Client(stack.url, stack.apiKey);
    functions = new Functions(stack.url);
    const aws = {
      endpoint: stack.awsEndpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    };
    s3 = new S3Client({ ...aws, forcePathStyle: true });
    dynamodb = new DynamoDBClient(aws);
    host = await client.createHost('a');
  });

  afterAll(async () => {
    functions?.close();
    s3?.destroy();
    dynamodb?.destroy();
    await stack?.stop();
  });

  async function keys(): Promise<string[]> {
    const { Contents = [] } = await s3.send(
      new ListObjectsV2Command({ Bucket: stack.bucket, Prefix: 'archive/' }),
    );
    return Contents.map(({ Key }) => Key!);
  }

  /** Makes every object one of the former format, as an earlier release left it. */
  async function undoFormat(): Promise<void> {
    const manifest = new Manifest({ client: dynamodb, name: physicalName('MetaTable') });
    const cold = new ColdTier(s3, stack.bucket);
    for (const key of await keys()) {
      const [, tenantId, day, number] = /tenant=([^/]+)\/date=([^/]+)\/partition-(\d+)/.exec(key)!;
      const ref = { tenantId: tenantId!, partition: Number(number) };
      const { committed, archived } = (await manifest.get(ref, day!))!;
      const { reader } = (await cold.open(key))!;
      const bytes: Uint8Array[] = [];
      const writer = HTSD_FORMAT.writer(async (part) => void bytes.push(part));
      for (const [group, chunks] of Map.groupBy(reader.chunks, (chunk) => chunk.group))
        await writer.addGroup(group, await Promise.all(chunks.map((chunk) => reader.load(chunk))));
      await writer.finish(new Map(Object.entries(await reader.warm())));
      const former = key.replace('/v2/', '/v1/').replace('/date=', '/day=').replace('.parquet', '.htsd');
      const Body = Buffer.concat(bytes);
      const { ETag } = await s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key: former, Body }));
      await s3.send(new DeleteObjectCommand({ Bucket: stack.bucket, Key: key }));
      const part = { ...archived!.parts[0]!, key: former, etag: ETag!, bytes: Body.length };
      expect(await manifest.commit(ref, day!, committed, { ...archived!, parts: [part] })).toBeDefined();
    }
  }

  /** Exit code, and what a person sees. */
  async function opsText(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    const root = join(__dirname, '..', '..');
    const tsx = join(root, 'node_modules', '.bin', 'tsx');
    const command = [join(root, 'scripts', 'ops.ts'), ...args, '--url', stack.url];
    return run(tsx, command).then(
      ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
      ({ code, stdout, stderr }) => ({ code, out: stdout, err: stderr }),
    );
  }

  test('verifies what it wrote, and names an object that is not what the manifest says', async () => {
    const points = [0, 1, 2].map((day) => ({ hostId: host, name: 'm', time: now - day * DAY, value: day }));
    await client.post(points);
    await until(
      'the samples',
      () => client.metrics(host, 'm', now - 2 * DAY, now).catch(() => ''),
      (text) => text.includes('"value":0') && text.includes('"value":2'),
    );
    await drain(functions, () => {});
    expect((await archive(functions, { before: 8.64e15, purge: false }, () => {})).archived).toBe(3);
    const whole = await ops<VerifyResult>(stack.url, 'archive', 'verify');
    expect(whole).toMatchObject({ objects: 3, samples: 3, differences: [] });

    const [Key] = await keys();
    const at = { Bucket: stack.bucket, Key: Key! };
    const { Body } = await s3.send(new GetObjectCommand(at));
    const bytes = await Body!.transformToByteArray();
    await s3.send(
      new PutObjectCommand({ ...at, Body: bytes.map((byte, i) => (i === 20 ? byte ^ 1 : byte)) }),
    );
    const altered = await opsText('archive', 'verify');
    expect(altered).toMatchObject({ code: 1, out: expect.stringContaining(Key!) });
    expect(altered.err).toContain('1 objects of the archive are not what the manifest says');
    await s3.send(new PutObjectCommand({ ...at, Body: bytes }));
    expect((await opsText('archive', 'verify')).code).toBe(0);
  });

  test('writes days of a former format again, after saying what it would do', async () => {
    await undoFormat();
    expect(await rewriteArchive(functions, { purge: false, dryRun: true })).toMatchObject({
      reopened: { days: 3, samples: 3, isDryRun: true },
    });
    expect((await keys()).every((key) => key.startsWith('archive/v1/'))).toBe(true);
    const { reopened, archived } = await rewriteArchive(functions, { purge: false });
    expect(reopened.days).toBe(3);
    expect(archived!.archived).toBe(3);
    expect((await keys()).every((key) => key.startsWith('archive/v2/'))).toBe(true);
    expect((await rewriteArchive(functions, { purge: false })).reopened.days).toBe(0);
    expect(await ops<VerifyResult>(stack.url, 'archive', 'verify')).toMatchObject({
      samples: 3,
      differences: [],
    });
    expect(await client.metrics(host, 'm', now - 2 * DAY, now)).toContain('"value":2');
  });

  test('prints SQL of the bucket, the tenant and its first day', async () => {
    const { athena, duckdb } = await ops<ArchiveSql>(stack.url, 'archive', 'sql', '--region', 'eu-west-1');
    const firstDay = new Date((now - 2 * DAY) * 1000).toISOString().slice(0, 10);
    const [prefix] = /archive\/v2\/tenant=[^/]+\//.exec((await keys())[0]!)!;
    expect(athena).toContain(`'projection.date.range' = '${firstDay},NOW+2DAYS'`);
    expect(athena).toContain(`LOCATION 's3://${stack.bucket}/archive/v2/'`);
    expect(duckdb).toContain(`s3://${stack.bucket}/${prefix}date=*/*.parquet`);
    expect(duckdb).toContain("REGION 'eu-west-1'");
  });
});
