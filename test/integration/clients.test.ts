import { deflateSync } from 'node:zlib';
import { snappyCompress } from 'hysnappy';
import protobuf from 'protobufjs';
import { DAY_MS } from '../../shared/model/duration';
import { uncompressBlock } from '../../shared/protocol/prometheus/snappy';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { patientFetch } from '../support/patient-fetch';
import { until } from '../support/until';
import { encodeV1, encodeV2 } from '../unit/protocol/prometheus/messages';

/**
 * Requests that clients of Prometheus, InfluxDB and OpenTelemetry make in addition to sending samples.
 * test/peers runs the clients themselves.
 */
describe('clients of other projects', () => {
  let stack: LocalStack;
  const nowMs = Math.floor(Date.now() / 1000) * 1000 - 5_000;
  const now = nowMs / 1000;
  const V2 = 'application/x-protobuf;proto=io.prometheus.write.v2.Request';
  const up = (instance: string): [string, string][] => [
    ['__name__', 'clients_up'],
    ['instance', instance],
    ['job', 'clients'],
  ];

  beforeAll(async () => {
    stack = await startLocalStack({
      hasFreedoms: true,
      settings: SHARED_SETTINGS.exposed,
    });
    const samples = Array.from({ length: 20 }, (_, i) => ({
      timestamp: nowMs - (19 - i) * 15_000,
      value: 1,
    }));
    // npm's prometheus-remote-write sends no Content-Encoding.
    const answer = await post(
      '/prometheus/api/v1/write',
      snappyCompress(encodeV1(['a', 'b'].map((instance) => ({ labels: up(instance), samples })))),
      { 'content-type': 'application/x-protobuf' },
    );
    expect(answer.status).toBe(204);
    await until(
      'the samples',
      () => json('/prometheus/api/v1/query', { query: 'count(clients_up)', time: String(now) }),
      ({ data }) => data?.result?.[0]?.value[1] === '2',
    );
  });

  afterAll(async () => {
    await stack?.stop();
  });

  const ask = (path: string, init: RequestInit = {}) =>
    patientFetch(new URL(path, stack.url), {
      redirect: 'manual',
      ...init,
      headers: { 'x-api-key': stack.apiKey, ...init.headers },
    });

  const post = (path: string, body: Uint8Array | string, headers: Record<string, string> = {}) =>
    ask(path, { method: 'POST', body, headers });

  // biome-ignore lint/suspicious/noExplicitAny: each test says what it looks for.
  const json = async (path: string, parameters: Record<string, string> = {}): Promise<any> =>
    (await ask(`${path}?${new URLSearchParams(parameters)}`)).json();

  describe('of Prometheus', () => {
    test.each([
      { path: '/prometheus/api/v1/nosuch', method: 'GET', status: 404, errorType: 'not_found' },
      { path: '/prometheus/nosuch', method: 'GET', status: 404, errorType: 'not_found' },
      { path: '/prometheus/api/v1/admin/tsdb/snapshot', method: 'POST', status: 404, errorType: 'not_found' },
      { path: '/prometheus/api/v1/metadata', method: 'POST', status: 405, errorType: 'internal' },
    ])("$method $path is $status in Prometheus' shape", async ({ path, method, status, errorType }) => {
      const answer = await ask(path, { method });
      expect([answer.status, await answer.json()]).toEqual([
        status,
        { status: 'error', errorType, error: expect.any(String) },
      ]);
    });

    test('a path without /prometheus says where it is', async () => {
      const answer = await ask('/api/v1/query?query=1');
      expect([answer.status, await answer.json()]).toEqual([
        404,
        { error: { message: 'there is nothing at /api/v1/query; /prometheus/api/v1/query is' } },
      ]);
    });

    test.each([
      { method: 'GET', path: '/prometheus/api/v1/query/?query=1', status: 301 },
      { method: 'GET', path: '/prometheus//api/v1/query?query=1', status: 301 },
      { method: 'POST', path: '/prometheus/api/v1/query/?query=1', status: 308 },
    ])(
      '$method $path is redirected to the path without surplus slashes',
      async ({ method, path, status }) => {
        const answer = await ask(path, { method });
        expect([answer.status, answer.headers.get('location')]).toEqual([
          status,
          '/prometheus/api/v1/query?query=1',
        ]);
        const followed = await ask(path, { method, redirect: 'follow' });
        expect(await followed.json()).toMatchObject({ data: { result: [expect.any(Number), '1'] } });
      },
    );

    test.each(['/prometheus', '/prometheus/'])('%s leads to the page', async (path) => {
      const answer = await patientFetch(new URL(path, stack.url));
      expect([answer.status, new URL(answer.url).pathname]).toEqual([200, '/']);
    });

    test.each([
      { path: '/-/healthy', text: 'Prometheus Server is Healthy.\n' },
      { path: '/-/ready', text: 'Prometheus Server is Ready.\n' },
    ])('$path needs no key', async ({ path, text }) => {
      const answer = await patientFetch(new URL(`/prometheus${path}`, stack.url));
      expect([answer.status, await answer.text()]).toEqual([200, text]);
    });

    test.each([
      { path: 'targets', data: { activeTargets: [], droppedTargets: [], droppedTargetCounts: {} } },
      { path: 'alertmanagers', data: { activeAlertmanagers: [], droppedAlertmanagers: [] } },
      { path: 'rules', data: { groups: [] } },
      { path: 'alerts', data: { alerts: [] } },
      { path: 'status/config', data: { yaml: '' } },
      { path: 'features', data: { api: { remote_write_receiver: true } } },
      { path: 'status/runtimeinfo', data: { storageRetention: '460d', reloadConfigSuccess: true } },
    ])('$path is well-formed', async ({ path, data }) => {
      expect(await json(`/prometheus/api/v1/${path}`)).toMatchObject({ status: 'success', data });
    });

    test('there are no flags, by which Grafana would take the server for Thanos', async () => {
      const headers = { authorization: `Bearer ${stack.apiKey}` };
      const answer = await patientFetch(new URL('/prometheus/api/v1/status/flags', stack.url), { headers });
      expect([answer.status, await answer.json()]).toEqual([
        404,
        { status: 'error', errorType: 'not_found', error: expect.stringContaining('there is nothing at') },
      ]);
    });

    test('an expression is answered as a tree', async () => {
      const query = 'topk(2, rate(x{a!="b"}[5m] offset 1m)) / on (a) group_left (c) -y @ start()';
      const selector = { anchored: false, smoothed: false };
      expect((await json('/prometheus/api/v1/parse_query', { query })).data).toEqual({
        type: 'binaryExpr',
        op: '/',
        bool: false,
        matching: {
          card: 'many-to-one',
          labels: ['a'],
          on: true,
          include: ['c'],
          fillValues: { lhs: null, rhs: null },
        },
        lhs: {
          type: 'aggregation',
          op: 'topk',
          param: { type: 'numberLiteral', val: '2' },
          grouping: [],
          without: false,
          expr: {
            type: 'call',
            func: { name: 'rate', argTypes: ['matrix'], variadic: 0, returnType: 'vector' },
            args: [
              {
                type: 'matrixSelector',
                name: 'x',
                range: 300_000,
                rangeExpr: null,
                offset: 60_000,
                offsetExpr: null,
                matchers: [
                  { name: 'a', value: 'b', type: '!=' },
                  { name: '__name__', value: 'x', type: '=' },
                ],
                timestamp: null,
                startOrEnd: null,
                ...selector,
              },
            ],
          },
        },
        rhs: {
          type: 'unaryExpr',
          op: '-',
          expr: {
            type: 'vectorSelector',
            name: 'y',
            offset: 0,
            offsetExpr: null,
            matchers: [{ name: '__name__', value: 'y', type: '=' }],
            timestamp: null,
            startOrEnd: 'start',
            ...selector,
          },
        },
      });
    });

    test('federation gives the newest sample of each series, with its time', async () => {
      const answer = await ask('/prometheus/federate?match[]=clients_up&match[]={instance="a"}');
      expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
        200,
        'text/plain; version=0.0.4; charset=utf-8; escaping=underscores',
        '# TYPE clients_up untyped\n' +
          `clients_up{instance="a",job="clients"} 1 ${nowMs}\n` +
          `clients_up{instance="b",job="clients"} 1 ${nowMs}\n`,
      ]);
    });

    const { root } = protobuf.parse(`syntax = "proto3";
      message ReadRequest { repeated Query queries = 1; repeated int32 accepted_response_types = 2; }
      message Query { int64 start_timestamp_ms = 1; int64 end_timestamp_ms = 2; repeated Matcher matchers = 3; }
      message Matcher { int32 type = 1; string name = 2; string value = 3; }
      message Label { string name = 1; string value = 2; }
      message Sample { double value = 1; int64 timestamp = 2; }
      message TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; }
      message QueryResult { repeated TimeSeries timeseries = 1; }
      message ReadResponse { repeated QueryResult results = 1; }`);

    const read = (startMs: number, endMs: number, acceptedResponseTypes: number[] = []) =>
      post(
        '/prometheus/api/v1/read',
        snappyCompress(
          root
            .lookupType('ReadRequest')
            .encode({
              queries: [
                {
                  startTimestampMs: startMs,
                  endTimestampMs: endMs,
                  matchers: [
                    { type: 0, name: '__name__', value: 'clients_up' },
                    { type: 2, name: 'instance', value: 'a|c' },
                  ],
                },
              ],
              acceptedResponseTypes,
            })
            .finish(),
        ),
        { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' },
      );

    test('remote read gives the samples of a range, both ends included', async () => {
      const answer = await read(nowMs - 15_000, nowMs);
      expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, 'snappy']);
      const type = root.lookupType('ReadResponse');
      const body = uncompressBlock(new Uint8Array(await answer.arrayBuffer()));
      expect(type.toObject(type.decode(body), { longs: Number })).toEqual({
        results: [
          {
            timeseries: [
              {
                labels: up('a').map(([name, value]) => ({ name, value })),
                samples: [
                  { timestamp: nowMs - 15_000, value: 1 },
                  { timestamp: nowMs, value: 1 },
                ],
              },
            ],
          },
        ],
      });
    });

    test('remote read streams chunks to readers that take them', async () => {
      const answer = await read(0, nowMs, [1, 0]);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        200,
        'application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse',
      ]);
      expect((await answer.arrayBuffer()).byteLength).toBeLessThan(200);
    });

    test.each([
      { name: 'no snappy', body: Buffer.from('hello') },
      { name: 'no message', body: snappyCompress(Buffer.of(0x0a, 9)) },
    ])('remote read of $name is 400', async ({ body }) => {
      const answer = await post('/prometheus/api/v1/read', body);
      expect([answer.status, await answer.json()]).toMatchObject([400, { errorType: 'bad_data' }]);
    });

    test.each([
      { query: 'clients_up', queryable: 2, read: 2 },
      { query: 'rate(clients_up[1m])', queryable: 8, read: 8 },
      { query: 'sum(clients_up) + 1', queryable: 2, read: 2 },
      { query: 'max_over_time(clients_up[1m:30s])', queryable: 4, read: 4 },
    ])('an instant $query looks at $queryable samples', async ({ query, queryable, read: samplesRead }) => {
      // 60 s that begin at a multiple of 30 s contain two steps of the subquery.
      const { data } = await json('/prometheus/api/v1/query', { query, time: String(now), stats: 'all' });
      expect(data.stats).toEqual({
        timings: {
          evalTotalTime: expect.any(Number),
          resultSortTime: 0,
          queryPreparationTime: expect.any(Number),
          innerEvalTime: expect.any(Number),
          execQueueTime: 0,
          execTotalTime: expect.any(Number),
        },
        samples: { totalQueryableSamples: queryable, samplesRead, peakSamples: expect.any(Number) },
      });
      expect(data.stats.timings.evalTotalTime).toBeGreaterThan(0);
    });

    test('a range looks at a sample once for each window, and reads it once', async () => {
      const { data } = await json('/prometheus/api/v1/query_range', {
        query: 'rate(clients_up[1m])',
        start: String(now - 30),
        end: String(now),
        step: '15',
        stats: 'all',
      });
      expect(data.stats.samples).toMatchObject({ totalQueryableSamples: 24, samplesRead: 12 });
    });

    test('status/tsdb has the times of the first day with samples and of the last sample', async () => {
      const { headStats } = (await json('/prometheus/api/v1/status/tsdb')).data;
      const firstMs = nowMs - 19 * 15_000;
      expect(headStats.minTime).toBe(Math.floor(firstMs / DAY_MS) * DAY_MS);
      expect(headStats.maxTime).toBeGreaterThanOrEqual(nowMs);
    });

    test('pages of any origin may read with a key, and do nothing else', async () => {
      const origin = { origin: 'https://grafana.example' };
      const preflight = (path: string) =>
        patientFetch(new URL(path, stack.url), {
          method: 'OPTIONS',
          headers: { ...origin, 'access-control-request-method': 'POST' },
        });
      const allowed = await preflight('/prometheus/api/v1/query');
      expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
      expect(allowed.headers.get('access-control-allow-headers')).toContain('Authorization');
      for (const path of ['/prometheus/api/v1/query?query=1', '/prometheus/api/v1/query?query=('])
        expect((await ask(path, { headers: origin })).headers.get('access-control-allow-origin')).toBe('*');
      for (const path of ['/prometheus/api/v1/write', '/api/v0/hosts', '/api/v1/status', '/v1/metrics']) {
        const refused = await preflight(path);
        expect([path, refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([
          path,
          405,
          null,
        ]);
      }
      expect(
        (await ask('/api/v0/hosts', { headers: origin })).headers.get('access-control-allow-origin'),
      ).toBeNull();
    });
  });

  describe('of remote write', () => {
    const body = (labels: [string, string][], extras: object = {}) => [
      { labels, samples: [{ timestamp: nowMs, value: 1 }], ...extras },
    ];

    test.each([
      { name: 'gzip', headers: { 'content-encoding': 'gzip' }, status: 415 },
      { name: 'identity', headers: { 'content-encoding': 'identity' }, status: 415 },
    ])('a body of encoding $name is $status', async ({ headers, status }) => {
      const answer = await post('/prometheus/api/v1/write', encodeV1(body(up('c'))), {
        'content-type': 'application/x-protobuf',
        ...headers,
      });
      expect(answer.status).toBe(status);
    });

    test('a body without the header that is not snappy is 400', async () => {
      const answer = await post('/prometheus/api/v1/write', encodeV1(body(up('c'))), {
        'content-type': 'application/x-protobuf',
      });
      expect(answer.status).toBe(400);
    });

    test('a series with metadata and no samples is 400 in version 2.0', async () => {
      const empty = { labels: up('d'), samples: [], metadata: { type: 2, help: 'H', unit: '' } };
      const answer = await post(
        '/prometheus/api/v1/write',
        snappyCompress(encodeV2([...body(up('c')), empty])),
        {
          'content-type': V2,
        },
      );
      expect([answer.status, await answer.text()]).toEqual([
        400,
        'dropped: 1 series without a sample. series 1: it has no sample',
      ]);
      expect(answer.headers.get('x-prometheus-remote-write-samples-written')).toBe('1');
    });

    test('native histograms and exemplars of version 1.0, which are not stored, are no error', async () => {
      const answer = await post(
        '/prometheus/api/v1/write',
        snappyCompress(encodeV1(body(up('c'), { histograms: 1, exemplars: 1 }))),
        { 'content-type': 'application/x-protobuf' },
      );
      expect([answer.status, await answer.text()]).toEqual([204, '']);
    });
  });

  describe('of InfluxDB', () => {
    test('/health and /ready have what clients read', async () => {
      expect(await json('/health')).toEqual({
        name: 'heterotsdb',
        message: 'ready for queries and writes',
        status: 'pass',
        checks: [],
      });
      expect(await json('/ready')).toEqual({
        status: 'ready',
        started: expect.stringMatching(/^\d{4}-.*Z$/),
        up: expect.stringMatching(/^[\d.]+s$/),
      });
    });

    test.each([
      { precision: 'second', unit: 1 },
      { precision: 'millisecond', unit: 1e3 },
      { precision: 'auto', unit: 1e3 },
      { precision: '', unit: 1e6 },
    ])("InfluxDB 3's write takes precision $precision", async ({ precision, unit }) => {
      const measurement = `v3_${precision}_${unit}`;
      const query = precision === '' ? 'db=x' : `db=x&precision=${precision}`;
      const answer = await post(`/api/v3/write_lp?${query}`, `${measurement},host=v3 f=1 ${now * unit}`);
      expect([answer.status, await answer.text()]).toEqual([204, '']);
      await until(
        measurement,
        () => json('/prometheus/api/v1/query', { query: `${measurement}_f`, time: String(now) }),
        ({ data }) => data?.result?.[0]?.value[0] === now,
      );
    });

    test("InfluxDB 3's write names bad lines", async () => {
      const answer = await post('/api/v3/write_lp?db=x', `m f=1 ${nowMs}\nm f=`);
      expect([answer.status, await answer.json()]).toEqual([
        400,
        {
          error: expect.stringMatching(/^partial write: unable to parse line 2/),
          data: [{ original_line: '', line_number: 2, error_message: expect.any(String) }],
        },
      ]);
    });
  });

  test('OTLP takes bodies with deflate', async () => {
    const send = (body: Uint8Array) =>
      post('/v1/metrics', body, { 'content-type': 'application/json', 'content-encoding': 'deflate' });
    const answer = await send(deflateSync('{"resourceMetrics":[]}'));
    expect([answer.status, await answer.text()]).toEqual([200, '{}']);
    expect((await send(Buffer.from('x'))).status).toBe(400);
    expect((await send(deflateSync(Buffer.alloc(20_000_000)))).status).toBe(413);
  });

  describe('at the URL of the post function', () => {
    const atUrl = (path: string, body: Uint8Array | string, headers: Record<string, string> = {}) =>
      patientFetch(new URL(path, stack.postUrl), {
        method: 'POST',
        body,
        headers: { 'x-api-key': stack.apiKey, ...headers },
      });
    const storedValue = (query: string) =>
      until(
        query,
        () => json('/prometheus/api/v1/query', { query, time: String(now) }),
        ({ data }) => data?.result?.length === 1,
      ).then(({ data }) => data.result[0].value[1]);

    test('an agent registers its host by redirects, and its posts are stored', async () => {
      const host = await atUrl('/api/v0/hosts', JSON.stringify({ name: 'url1', meta: {} }));
      expect([host.redirected, host.url]).toEqual([true, `${stack.url}/api/v0/hosts`]);
      const { id: hostId } = (await host.json()) as { id: string };
      const points = JSON.stringify([{ hostId, name: 'url.value', time: now, value: 4 }]);
      const posted = await atUrl('/api/v0/tsdb', points);
      expect([posted.redirected, posted.status, await posted.json()]).toEqual([
        false,
        200,
        { success: true },
      ]);
      expect(await storedValue(`{__name__="url.value",host="${hostId}"}`)).toBe('4');
    });

    test('a service with a percent-encoded name takes posts', async () => {
      expect((await ask('/api/v0/services', { method: 'POST', body: '{"name":"url_shop"}' })).status).toBe(
        200,
      );
      const points = JSON.stringify([{ name: 'url.orders', time: now, value: 5 }]);
      expect((await atUrl('/api/v0/services/url%5Fshop/tsdb', points)).status).toBe(200);
      expect(await storedValue('{__name__="url.orders",service="url_shop"}')).toBe('5');
    });

    test('line protocol, remote write and OTLP are taken, compressed bodies too', async () => {
      expect((await atUrl('/write?precision=s', `url_lines value=6 ${now}`)).status).toBe(204);
      const series = {
        labels: [['__name__', 'url_remote']] as [string, string][],
        samples: [{ timestamp: nowMs, value: 7 }],
      };
      const remote = await atUrl('/prometheus/api/v1/write', snappyCompress(encodeV1([series])), {
        'content-type': 'application/x-protobuf',
        'content-encoding': 'snappy',
      });
      expect(remote.status).toBe(204);
      const otlp = await atUrl('/v1/metrics', deflateSync('{"resourceMetrics":[]}'), {
        'content-type': 'application/json',
        'content-encoding': 'deflate',
      });
      expect(otlp.status).toBe(200);
      expect(await storedValue('url_lines_value')).toBe('6');
      expect(await storedValue('url_remote')).toBe('7');
    });

    test('a post without a valid key is refused, and a read is answered by the API', async () => {
      expect((await atUrl('/write', 'a b=1', { 'x-api-key': 'ht_wrong' })).status).toBe(401);
      const read = await patientFetch(new URL('/prometheus/api/v1/query?query=1%2B1', stack.postUrl), {
        headers: { 'x-api-key': stack.apiKey },
      });
      expect([read.redirected, ((await read.json()) as { status: string }).status]).toEqual([
        true,
        'success',
      ]);
    });
  });
});
