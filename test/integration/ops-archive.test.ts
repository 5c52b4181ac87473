import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { archive } from '../../scripts/ops/archive';
import type { ArchiveSql } from '../../scripts/ops/archive-sql';
import type { VerifyResult } from '../../scripts/ops/archive-verify';
import { drain } from '../../scripts/ops/drain';
import { Functions } from '../../scripts/ops/invoke';
import { RELEASE } from '../../shared/platform/names';
import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { ops, runOps } from '../support/ops';
import { until } from '../support/until';

const DAY = 86_400;
const now = Math.floor(Date.now() / 60_000) * 60;

describe('ops archive', () => {
  let stack: LocalStack;
  let client: Client;
  let functions: Functions;
  let s3: S3Client;
  let host: string;

  beforeAll(async () => {
    stack = await startLocalStack({ settings: SHARED_SETTINGS.oldSamples });
    client = new Client(stack.url, stack.apiKey, true);
    functions = new Functions(stack.url);
    const aws = {
      endpoint: stack.awsEndpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    };
    s3 = new S3Client({ ...aws, forcePathStyle: true });
    host = await client.createHost('a');
  });

  afterAll(async () => {
    functions?.close();
    s3?.destroy();
    await stack?.stop();
  });

  async function keys(): Promise<string[]> {
    const { Contents = [] } = await s3.send(
      new ListObjectsV2Command({ Bucket: stack.bucket, Prefix: 'archive/' }),
    );
    return Contents.map(({ Key }) => Key!);
  }

  /** Runs a command. @returns its exit code, and the output that a person sees */
  const opsText = (...args: string[]) => runOps(...args, '--url', stack.url);

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
    const { Body, Metadata } = await s3.send(new GetObjectCommand(at));
    expect(Metadata).toEqual({ release: RELEASE });
    const bytes = await Body!.transformToByteArray();
    await s3.send(
      new PutObjectCommand({ ...at, Body: bytes.map((byte, i) => (i === 20 ? byte ^ 1 : byte)) }),
    );
    const altered = await opsText('archive', 'verify');
    expect(altered).toMatchObject({ code: 1, out: expect.stringContaining(Key!) });
    expect(altered.err).toContain('1 objects of the archive differ from the manifest');
    await s3.send(new PutObjectCommand({ ...at, Body: bytes }));
    expect((await opsText('archive', 'verify')).code).toBe(0);
  });

  test('prints SQL of the bucket, the tenant and its first day', async () => {
    const { athena, duckdb } = await ops<ArchiveSql>(stack.url, 'archive', 'sql', '--region', 'eu-west-1');
    const firstDay = new Date((now - 2 * DAY) * 1000).toISOString().slice(0, 10);
    const [prefix] = /archive\/v1\/tenant=[^/]+\//.exec((await keys())[0]!)!;
    expect(athena).toContain(`'projection.date.range' = '${firstDay},NOW+2DAYS'`);
    expect(athena).toContain(`LOCATION 's3://${stack.bucket}/archive/v1/'`);
    expect(duckdb).toContain(`s3://${stack.bucket}/${prefix}date=*/*.parquet`);
    expect(duckdb).toContain("REGION 'eu-west-1'");
  });
});
