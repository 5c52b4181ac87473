/**
 * Clients of other projects, from their registries, write to the local stack and read from it. Each is a
 * short program in `programs`. They are installed into .local/peers when they are first run, with Python, npm
 * and Go from the PATH.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GetObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { freePort } from '../../scripts/local/server-process';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { prometheusBinaries, runPeer } from '../support/peers';
import { temporaryDir } from '../support/temporary-dir';
import { until } from '../support/until';

const NOW = Math.floor(Date.now() / 1000) - 5;
const ARCHIVED = NOW - 2 * 86_400;
const READERS = ['duckdb==2.0.0', 'pyarrow==26.0.1', 'polars==2.1.0', 'chdb==4.4.0'];
const INFLUXDATA = ['@influxdata/influxdb-client@1.35.0', '@influxdata/influxdb-client-apis@1.35.0'];

describe('clients of other projects', () => {
  const folder = temporaryDir();
  let stack: LocalStack;
  let env: Record<string, string>;

  const query = async (expression: string): Promise<string[]> => {
    const url = `${stack.url}/prometheus/api/v1/query?${new URLSearchParams({ query: expression })}`;
    const answer = await fetch(url, { headers: { 'x-api-key': stack.apiKey } });
    const { data } = (await answer.json()) as { data?: { result: { value: [number, string] }[] } };
    return (data?.result ?? []).map(({ value }) => value[1]).sort();
  };

  beforeAll(async () => {
    stack = await startLocalStack({ settings: { maxSampleAge: '3d' } });
    env = { URL: stack.url, KEY: stack.apiKey, NOW: String(NOW), ARCHIVE: folder };
    const lines = ['a', 'b'].flatMap((instance) => {
      const line = (time: number) =>
        `peer,instance=${instance},job=peers up=${instance === 'a' ? 1 : 0.5} ${time}`;
      return [line(ARCHIVED), ...Array.from({ length: 20 }, (_, i) => line(NOW - 15 * i))];
    });
    const buckets = Array.from({ length: 20 }, (_, i) =>
      ['1', '+Inf'].map((le) => `peer,instance=a,job=peers,le=${le} seconds_bucket=2 ${NOW - 15 * i}`),
    ).flat();
    const answer = await fetch(new URL('/api/v2/write?precision=s', stack.url), {
      method: 'POST',
      headers: { authorization: `Token ${stack.apiKey}` },
      body: [...lines, ...buckets].join('\n'),
    });
    expect(answer.status).toBe(204);
    await until(
      'the samples',
      () => query('count(peer_up)'),
      ([count]) => count === '2',
    );
  });

  afterAll(async () => {
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each([
    {
      program: 'influxdb-client.py',
      packages: ['influxdb-client==1.50.0'],
      prints: { health: 'pass', name: 'heterotsdb', ready: 'ready', ping: true },
      wrote: 'influxdb_client_value',
      value: '1.5',
    },
    {
      program: 'influxdb3-python.py',
      packages: ['influxdb3-python==0.21.0'],
      prints: {},
      wrote: 'influxdb3_value',
      value: '2.5',
    },
    {
      program: 'influxdb.py',
      packages: ['influxdb==5.3.2'],
      prints: { version: '1.8.10', written: true },
      wrote: 'influxdb_1_value',
      value: '3.5',
    },
    {
      program: 'influxdata-client.mjs',
      packages: INFLUXDATA,
      prints: { health: 'pass', ready: 'ready' },
      wrote: 'influxdata_client_value',
      value: '5.5',
    },
    {
      program: 'prometheus-remote-write.mjs',
      packages: ['prometheus-remote-write@0.5.1', 'node-fetch@2.7.0'],
      prints: { status: 204 },
      wrote: 'prometheus_remote_write',
      value: '6.5',
    },
    {
      program: 'opentelemetry-sdk.py',
      packages: ['opentelemetry-sdk==1.45.2', 'opentelemetry-exporter-otlp-proto-http==1.45.2'],
      prints: { flushed: [true, true, true] },
      wrote: 'sum(opentelemetry_sdk_total)',
      value: '12',
    },
  ])('$program writes', async ({ prints, wrote, value, ...peer }) => {
    expect(await runPeer(peer, env)).toEqual(prints);
    await until(
      wrote,
      () => query(wrote),
      (found) => JSON.stringify(found) === JSON.stringify([value]),
    );
  });

  const vector = [
    ['a', '1'],
    ['b', '0.5'],
  ];

  test.each([
    {
      program: 'prometheus-api-client.py',
      packages: ['prometheus-api-client==0.7.2'],
      prints: { connected: true, metrics: true, instances: ['a', 'b'], vector, samples: 4 },
    },
    {
      program: 'prometheus-pandas.py',
      packages: ['prometheus-pandas==0.3.3', 'requests==2.34.2'],
      prints: { vector: [0.5, 1], shape: [5, 2] },
    },
    {
      program: 'prometheus-query.mjs',
      packages: ['prometheus-query@3.5.1'],
      prints: {
        vector: vector.map(([instance, value]) => [instance, Number(value)]),
        steps: [5, 5],
        series: 2,
        names: true,
        instances: ['a', 'b'],
        targets: [],
        alertmanagers: [],
        rules: [],
        alerts: [],
      },
    },
  ])('$program reads', async ({ prints, ...peer }) => {
    expect(await runPeer(peer, env)).toEqual(prints);
  });

  test("Grafana's data source backend checks, queries and lists, by POST and GET, with Basic authentication", async () => {
    const found = await runPeer(
      { program: 'grafana', packages: ['github.com/grafana/grafana/pkg/promlib@v0.0.8'] },
      env,
    );
    const labels = ['__name__', 'instance', 'job'];
    const series = ['a', 'b'].map((instance) => ({ __name__: 'peer_up', instance, job: 'peers' }));
    const each = {
      health: 'OK',
      range: [5, 5],
      instant: [1, 1],
      labels,
      values: ['a', 'b'],
      series,
      rules: { groups: [] },
      buildinfo: { version: expect.stringMatching(/^3\./) },
    };
    expect(found).toMatchObject({ POST: each, GET: each });
  });

  describe('readers of Parquet', () => {
    beforeAll(async () => {
      await ops(stack.url, 'drain');
      await ops(stack.url, 'archive');
      const s3 = new S3Client({
        endpoint: stack.awsEndpoint,
        region: 'us-east-1',
        credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
        forcePathStyle: true,
      });
      for await (const { Contents = [] } of paginateListObjectsV2(
        { client: s3 },
        { Bucket: stack.bucket, Prefix: 'archive/' },
      ))
        for (const { Key } of Contents.filter((object) => object.Key!.endsWith('.parquet'))) {
          const { Body } = await s3.send(new GetObjectCommand({ Bucket: stack.bucket, Key }));
          mkdirSync(dirname(join(folder, Key!)), { recursive: true });
          writeFileSync(join(folder, Key!), await Body!.transformToByteArray());
        }
      s3.destroy();
    });

    test.each(['duckdb', 'pyarrow', 'polars', 'chdb'])('%s reads the archive', async (reader) => {
      const found = await runPeer({ program: 'archive.py', packages: READERS }, { ...env, READER: reader });
      expect(found).toEqual({ version: expect.any(String), found: [42, 31.5] });
    });
  });

  describe("Prometheus' own programs", () => {
    let promtool: string;
    let prometheus: ChildProcess | undefined;

    beforeAll(() => {
      promtool = join(prometheusBinaries(), 'promtool');
      writeFileSync(
        join(folder, 'promtool.yml'),
        `basic_auth: { username: any, password: ${stack.apiKey} }\n`,
      );
    });

    afterAll(async () => {
      if (prometheus === undefined) return;
      const gone = once(prometheus, 'exit');
      prometheus.kill('SIGTERM');
      await gone;
    });

    const tool = (args: readonly string[], input = '') => {
      const [area, command, ...rest] = args;
      const config = `--http.config.file=${join(folder, 'promtool.yml')}`;
      const { status, stdout, stderr } = spawnSync(promtool, [area!, command!, config, ...rest], {
        encoding: 'utf8',
        input,
      });
      return { status, text: stdout + stderr };
    };
    const server = () => `${stack.url}/prometheus`;

    test.each([
      {
        args: () => ['query', 'instant', `--time=${NOW}`, server(), 'peer_up'],
        says: 'instance="b", job="peers"} => 0.5',
      },
      {
        args: () => [
          'query',
          'range',
          `--start=${NOW - 60}`,
          `--end=${NOW}`,
          '--step=15s',
          server(),
          'sum(peer_up)',
        ],
        says: `1.5 @[${NOW}]`,
      },
      { args: () => ['query', 'series', '--match=peer_up', server()], says: 'instance="a"' },
      { args: () => ['query', 'labels', server(), 'instance'], says: 'b' },
      {
        args: () => [
          'query',
          'analyze',
          `--server=${server()}`,
          '--type=histogram',
          '--match=peer_seconds_bucket',
        ],
        // At every time, one of two buckets has observations.
        says: 'peer_seconds_bucket{instance="a", job="peers"} (classic): 1/1.000/1/2',
      },
      { args: () => ['check', 'healthy', `--url=${server()}`], says: 'SUCCESS' },
      { args: () => ['check', 'ready', `--url=${server()}`], says: 'SUCCESS' },
    ])('promtool $#: its answer has $says', ({ args, says }) => {
      const { status, text } = tool(args());
      expect([status, text]).toEqual([0, expect.stringContaining(says)]);
    });

    test('promtool push metrics writes', async () => {
      const { status, text } = tool(
        ['push', 'metrics', server()],
        '# TYPE promtool_pushed gauge\npromtool_pushed{kind="text"} 7\n',
      );
      expect([status, text]).toEqual([0, expect.any(String)]);
      await until(
        'promtool_pushed',
        () => query('promtool_pushed'),
        ([value]) => value === '7',
      );
    });

    test('a Prometheus reads by remote read what is stored here', async () => {
      const port = await freePort();
      const config = join(folder, 'prometheus.yml');
      writeFileSync(
        config,
        `remote_read:
  - url: ${server()}/api/v1/read
    read_recent: true
    authorization: { credentials: ${stack.apiKey} }
`,
      );
      prometheus = spawn(
        join(dirname(promtool), 'prometheus'),
        [
          `--config.file=${config}`,
          `--storage.tsdb.path=${join(folder, 'data')}`,
          `--web.listen-address=127.0.0.1:${port}`,
        ],
        { stdio: 'ignore' },
      );
      const parameters = new URLSearchParams({ query: 'peer_up[10m]', time: String(NOW) });
      const ask = async (url: string, headers = {}) => {
        try {
          return (await (await fetch(`${url}/api/v1/query?${parameters}`, { headers })).json()) as unknown;
        } catch (error) {
          return String(error);
        }
      };
      const ours = await ask(server(), { 'x-api-key': stack.apiKey });
      await until(
        'the same samples',
        () => ask(`http://127.0.0.1:${port}`),
        (theirs) => JSON.stringify(theirs) === JSON.stringify(ours),
      );
    });
  });
});
