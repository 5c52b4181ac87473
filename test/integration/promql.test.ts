import { snappyCompress } from 'hysnappy';
import protobuf from 'protobufjs';
import type { Explanation } from '../../shared/query/explanation';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { OpenApiChecker } from '../support/openapi-checker';
import { until } from '../support/until';
import { encodeV1 } from '../unit/protocol/prometheus/messages';

interface Answer {
  readonly status: string;
  readonly data: unknown;
  readonly errorType?: string;
  readonly error?: string;
  readonly warnings?: string[];
  readonly infos?: string[];
}

interface Result {
  readonly resultType: string;
  readonly result: {
    readonly metric: Record<string, string>;
    readonly value?: [number, string];
    readonly values?: [number, string][];
  }[];
}

describe("Prometheus' API", () => {
  let stack: LocalStack;
  let checker: OpenApiChecker;
  /** Whole minutes, so that steps and subqueries meet samples. */
  const nowMs = Math.floor(Date.now() / 60_000) * 60_000;
  const now = nowMs / 1000;
  const from = now - 300;

  beforeAll(async () => {
    stack = await startLocalStack({ settings: { maxQuerySamples: '84' } });
    checker = new OpenApiChecker(
      (await (await fetch(new URL('/openapi.json', stack.url))).json()) as Record<string, unknown>,
    );
    const requests = ['a:1', 'b:2'].flatMap((instance, i) =>
      ['200', '500'].map((code, j) => ({
        labels: [
          ['__name__', 'http_requests_total'],
          ['code', code],
          ['instance', instance],
          ['job', 'shop'],
        ] as [string, string][],
        samples: Array.from({ length: 21 }, (_, n) => ({
          timestamp: nowMs - 300_000 + n * 15_000,
          value: n * (i + 1) * (j + 1) * 15,
        })),
      })),
    );
    const dotted = {
      labels: [
        ['__name__', 'a.b'],
        ['instance', 'a:1'],
        ['job', 'shop'],
      ] as [string, string][],
      samples: [{ timestamp: nowMs, value: -0 }],
    };
    await fetch(new URL('/prometheus/api/v1/write', stack.url), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${stack.apiKey}`,
        'content-type': 'application/x-protobuf',
        'content-encoding': 'snappy',
      },
      body: snappyCompress(
        encodeV1(
          [...requests, dotted],
          [
            { type: 1, metricFamilyName: 'http_requests_total', help: 'Requests.', unit: '' },
            { type: 2, metricFamilyName: 'a.b', help: '', unit: 's' },
          ],
        ),
      ),
    });
    await until(
      'all series can be read',
      () => get('/query', { query: 'count({job="shop"})', time: String(now) }),
      ({ data }) => (data as Result).result[0]?.value?.[1] === '5',
    );
  });

  afterAll(async () => {
    await stack?.stop();
  });

  const request = async (
    method: 'GET' | 'POST',
    path: string,
    parameters: readonly (readonly [string, string])[],
    inUrl = method === 'GET',
  ): Promise<{ status: number; answer: Answer; timing: string | null }> => {
    const encoded = new URLSearchParams(
      parameters.map(([name, value]): [string, string] => [name, value]),
    ).toString();
    const url = new URL(`/prometheus/api/v1${path}${inUrl ? `?${encoded}` : ''}`, stack.url);
    const response = await fetch(url, {
      method,
      headers: {
        // Grafana's data source sends the key as the password of Basic authentication.
        authorization: `Basic ${Buffer.from(`grafana:${stack.apiKey}`).toString('base64')}`,
        ...(method === 'POST' && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(!inUrl && { body: encoded }),
    });
    const text = await response.text();
    const template = `/prometheus/api/v1${path.replace(/^\/label\/[^/]+/, '/label/{name}')}`;
    expect([
      path,
      checker.flawOf(method, template, response.status, response.headers.get('content-type'), text),
    ]).toEqual([path, undefined]);
    const timing = response.headers.get('server-timing');
    return { status: response.status, answer: JSON.parse(text) as Answer, timing };
  };

  const get = async (path: string, parameters: Record<string, string> = {}) =>
    (await request('GET', path, Object.entries(parameters))).answer;

  test('an instant query answers vectors, scalars, strings and raw samples', async () => {
    const rate = await get('/query', {
      query: 'sum by (code) (irate(http_requests_total[5m]))',
      time: String(now),
    });
    expect(rate).toEqual({
      status: 'success',
      data: {
        resultType: 'vector',
        result: [
          { metric: { code: '200' }, value: [now, '3'] },
          { metric: { code: '500' }, value: [now, '6'] },
        ],
      },
    });
    expect((await get('/query', { query: '-0', time: '1435781451.781' })).data).toEqual({
      resultType: 'scalar',
      result: [1435781451.781, '-0'],
    });
    expect((await get('/query', { query: '"x"', time: '2015-07-01T20:10:51.781Z' })).data).toEqual({
      resultType: 'string',
      result: [1435781451.781, 'x'],
    });
    expect(
      (
        await get('/query', {
          query: 'http_requests_total{code="200",instance="a:1"}[30s]',
          time: String(now),
        })
      ).data,
    ).toEqual({
      resultType: 'matrix',
      result: [
        {
          metric: { __name__: 'http_requests_total', code: '200', instance: 'a:1', job: 'shop' },
          values: [
            [now - 15, '285'],
            [now, '300'],
          ],
        },
      ],
    });
    expect((await get('/query', { query: 'nope' })).data).toEqual({ resultType: 'vector', result: [] });
    expect((await get('/query', { query: '{"a.b"}', time: String(now) })).data).toMatchObject({
      result: [{ metric: { __name__: 'a.b' }, value: [now, '-0'] }],
    });
  });

  test('a range query answers a matrix sorted by labels, cut by limit with a warning', async () => {
    const parameters = { start: String(now - 120), end: String(now), step: '1m' };
    const { data } = await get('/query_range', {
      ...parameters,
      query: 'sum by (instance) (http_requests_total)',
    });
    expect(data).toEqual({
      resultType: 'matrix',
      result: [
        {
          metric: { instance: 'a:1' },
          values: [
            [now - 120, '540'],
            [now - 60, '720'],
            [now, '900'],
          ],
        },
        {
          metric: { instance: 'b:2' },
          values: [
            [now - 120, '1080'],
            [now - 60, '1440'],
            [now, '1800'],
          ],
        },
      ],
    });
    const cut = await get('/query_range', { ...parameters, query: 'http_requests_total', limit: '1' });
    expect((cut.data as Result).result).toHaveLength(1);
    expect(cut.warnings).toEqual(['results truncated due to limit']);
    expect((await get('/query_range', { ...parameters, query: 'time()' })).data).toMatchObject({
      result: [
        {
          metric: {},
          values: [
            [now - 120, String(now - 120)],
            [now - 60, String(now - 60)],
            [now, String(now)],
          ],
        },
      ],
    });
    const gauge = await get('/query', {
      query: 'rate({"a.b"}[5m] offset -1m) or rate({__name__=~"a.b|http_requests_total"}[5m])',
    });
    expect(gauge.status).toBe('success');
  });

  test.each<{
    path: string;
    parameters: Record<string, string>;
    status: number;
    errorType: string;
    error: string;
  }>([
    {
      path: '/query',
      parameters: {},
      status: 400,
      errorType: 'bad_data',
      error: 'invalid parameter "query": unknown position: parse error: no expression found in input',
    },
    {
      path: '/query',
      parameters: { query: 'sum(' },
      status: 400,
      errorType: 'bad_data',
      error: 'invalid parameter "query": 1:5: parse error: ',
    },
    {
      path: '/query',
      parameters: { query: '1', time: 'noon' },
      status: 400,
      errorType: 'bad_data',
      error: 'invalid parameter "time": cannot parse "noon" to a valid timestamp',
    },
    {
      path: '/query',
      parameters: { query: 'topk(1e300, http_requests_total)' },
      status: 422,
      errorType: 'execution',
      error: 'overflows int64',
    },
    {
      path: '/query',
      parameters: { query: 'http_requests_total', timeout: '0.001' },
      status: 503,
      errorType: 'timeout',
      error: 'query timed out',
    },
    {
      path: '/query_range',
      parameters: { query: '1', start: '10', end: '5', step: '1' },
      status: 400,
      errorType: 'bad_data',
      error: 'end timestamp must not be before start time',
    },
    {
      path: '/query_range',
      parameters: { query: '1', start: '0', end: '1', step: '0' },
      status: 400,
      errorType: 'bad_data',
      error: 'zero or negative query resolution',
    },
    {
      path: '/query_range',
      parameters: { query: '1', start: '0', end: '11001', step: '1' },
      status: 400,
      errorType: 'bad_data',
      error: 'exceeded maximum resolution of 11,000 points',
    },
    {
      path: '/query_range',
      parameters: { query: 'x[5m]', start: '0', end: '1', step: '1' },
      status: 400,
      errorType: 'bad_data',
      error: 'invalid parameter "query": invalid expression type "range vector"',
    },
    {
      path: '/series',
      parameters: {},
      status: 400,
      errorType: 'bad_data',
      error: 'no match[] parameter provided',
    },
    {
      path: '/series',
      parameters: { 'match[]': '{}' },
      status: 400,
      errorType: 'bad_data',
      error: 'invalid parameter "match[]": ',
    },
    {
      path: '/labels',
      parameters: { limit: '-1' },
      status: 400,
      errorType: 'bad_data',
      error: 'invalid parameter "limit": limit must be non-negative',
    },
  ])('$path of $parameters is $status $errorType', async ({ path, parameters, status, errorType, error }) => {
    const { status: found, answer } = await request('GET', path, Object.entries(parameters));
    expect([found, answer]).toMatchObject([
      status,
      { status: 'error', errorType, error: expect.stringContaining(error) },
    ]);
  });

  test('a request without a key, or to a path that is none, is refused', async () => {
    const response = await fetch(new URL('/prometheus/api/v1/query?query=1', stack.url));
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { status: 'error', errorType: 'unauthorized' },
    ]);
    const write = await fetch(new URL('/prometheus/api/v1/metadata', stack.url), {
      method: 'POST',
      headers: { 'x-api-key': stack.apiKey },
    });
    expect(write.status).toBe(405);
  });

  test('an answer tells what each tier took', async () => {
    const { timing } = await request('GET', '/query_range', [
      ['query', 'rate(http_requests_total{code="200"}[1m]) + http_requests_total{code="200"} offset 1m'],
      ['start', String(from)],
      ['end', String(now)],
      ['step', '60'],
    ]);
    expect(timing).toMatch(
      /^hot;dur=[\d.]+;desc="\d+ samples";spans="\d+-\d+( \d+-\d+)*", warm;dur=.*, cold;dur=/,
    );
  });

  test('a query of more samples than the tenant may read is refused', async () => {
    // A range of six minutes has all 85 samples.
    const query = 'count_over_time({job="shop"}[6m])';
    const { status, answer } = await request('GET', '/query', [
      ['query', query],
      ['time', String(now)],
    ]);
    expect([status, answer]).toEqual([
      422,
      {
        status: 'error',
        errorType: 'execution',
        error:
          '{job="shop"} selects more than 84 samples; narrow it by labels, or shorten the range (the tenant\'s limit querySamples); ' +
          'more than three days are read from rollups where start, step and ranges are multiples of an hour, ' +
          'and with max_source_resolution=auto everywhere, with ranges widened to hours',
      },
    ]);
  });

  test('max_source_resolution is a duration or auto, and changes a long range alone', async () => {
    const ask = (resolution: string, days: number) =>
      request('GET', '/query_range', [
        ['query', 'sum(count_over_time(http_requests_total{code="200"}[1h]))'],
        // Not a multiple of the step.
        ['start', String(Math.floor(now / 3600) * 3600 + 60 - days * 86_400)],
        ['end', String(now)],
        ['step', '3600'],
        ['max_source_resolution', resolution],
      ]);
    for (const [resolution, error] of [
      ['-1', "negative 'max_source_resolution' is not accepted. Try a positive integer"],
      ['soon', 'cannot parse "soon" to a valid duration'],
    ] as const) {
      const { status, answer } = await ask(resolution, 1);
      expect([status, answer.errorType]).toEqual([400, 'bad_data']);
      expect(answer.error).toContain(error);
    }
    const samples = await ask('0s', 1);
    expect(samples.answer).not.toHaveProperty('infos');
    for (const resolution of ['auto', '1h', '3600', '5m'])
      expect((await ask(resolution, 1)).answer).toEqual(samples.answer);
    expect((await ask('5m', 5)).answer).not.toHaveProperty('infos');
    for (const resolution of ['auto', '1h', '3600']) {
      const { status, answer } = await ask(resolution, 5);
      expect([status, answer.infos]).toEqual([
        200,
        [expect.stringContaining('rollups of 3600s stand for samples as max_source_resolution allows')],
      ]);
    }
  });

  test('explain tells what each selector read, and what the query used', async () => {
    const { answer } = await request('GET', '/query', [
      ['query', 'sum(http_requests_total{code="200"}) + sum(rate(http_requests_total{code="500"}[1m]))'],
      ['time', String(now)],
      ['explain', '1'],
    ]);
    const { reads, ...cost } = (answer.data as { explain: Explanation }).explain;
    expect(reads.map(({ selector }) => selector).sort()).toEqual([
      '{code="200", __name__="http_requests_total"}',
      '{code="500", __name__="http_requests_total"}',
    ]);
    for (const read of reads) {
      expect(read).toMatchObject({ read: 'samples', why: 'the range is shorter than 3 days' });
      expect(read.series).toBeGreaterThan(0);
      expect(read.rounds).toBeLessThanOrEqual(3);
      const { hot, warm, cold } = read.tiers;
      expect(hot.samples + warm.samples + cold.samples).toBeGreaterThan(0);
    }
    expect(cost).toEqual({
      memoryCalls: expect.any(Number),
      tableCalls: expect.any(Number),
      readUnits: expect.any(Number),
      objectGets: expect.any(Number),
      dollars: expect.any(Number),
    });
    expect(cost.memoryCalls).toBeGreaterThan(0);
    expect(cost.tableCalls).toBeGreaterThan(0);
  });

  test('the queries of a remote read share the limit of samples', async () => {
    const { root } = protobuf.parse(`syntax = "proto3";
      message ReadRequest { repeated Query queries = 1; }
      message Query { int64 start_timestamp_ms = 1; int64 end_timestamp_ms = 2; repeated Matcher matchers = 3; }
      message Matcher { int32 type = 1; string name = 2; string value = 3; }`);
    // Each query reads 42 samples.
    const query = {
      startTimestampMs: nowMs - 300_000,
      endTimestampMs: nowMs,
      matchers: [{ type: 0, name: 'code', value: '200' }],
    };
    const read = (queries: number) =>
      fetch(new URL('/prometheus/api/v1/read', stack.url), {
        method: 'POST',
        headers: { authorization: `Bearer ${stack.apiKey}`, 'content-type': 'application/x-protobuf' },
        body: snappyCompress(
          root
            .lookupType('ReadRequest')
            .encode({ queries: Array.from({ length: queries }, () => query) })
            .finish(),
        ),
      });
    expect((await read(2)).status).toBe(200);
    const refused = await read(3);
    expect([refused.status, await refused.json()]).toEqual([
      422,
      {
        status: 'error',
        errorType: 'execution',
        error:
          '{code="200"} and the other selectors of the query select more than 84 samples; narrow it by labels, or shorten the range (the tenant\'s limit querySamples)',
      },
    ]);
  });

  test('metadata tells what senders said of their metrics', async () => {
    const requests = [{ type: 'counter', help: 'Requests.', unit: '' }];
    const dotted = [{ type: 'gauge', help: '', unit: 's' }];
    expect((await get('/metadata')).data).toEqual({ http_requests_total: requests, 'a.b': dotted });
    expect((await get('/metadata', { limit: '1' })).data).toEqual({ 'a.b': dotted });
    expect((await get('/metadata', { metric: 'http_requests_total' })).data).toEqual({
      http_requests_total: requests,
    });
    expect((await get('/metadata', { metric: 'nothing' })).data).toEqual({});
  });

  test('series, names and values are browsed by selectors', async () => {
    const found = await request('GET', '/series', [
      ['match[]', '{code="500"}'],
      ['match[]', '{"a.b"}'],
      ['match[]', '{__name__=~"http.*",instance="a:1",code=~"5.."}'],
    ]);
    expect(found.answer.data).toEqual([
      { __name__: 'a.b', instance: 'a:1', job: 'shop' },
      { __name__: 'http_requests_total', code: '500', instance: 'a:1', job: 'shop' },
      { __name__: 'http_requests_total', code: '500', instance: 'b:2', job: 'shop' },
    ]);
    expect((await get('/labels', { 'match[]': 'http_requests_total' })).data).toEqual([
      '__name__',
      'code',
      'instance',
      'job',
    ]);
    expect((await get('/label/__name__/values', { 'match[]': '{job="shop"}' })).data).toEqual([
      'a.b',
      'http_requests_total',
    ]);
    expect((await get('/label/code/values', {})).data).toEqual(['200', '500']);
    expect((await get('/label/U__code/values', {})).data).toEqual(['200', '500']);
    expect((await get('/label/nope/values', {})).data).toEqual([]);
    const cut = await get('/label/code/values', { limit: '1' });
    expect([cut.data, cut.warnings]).toEqual([['200'], ['results truncated due to limit']]);
    expect((await get('/status/tsdb', { limit: '1' })).data).toMatchObject({
      headStats: { numSeries: expect.any(Number) },
      seriesCountByMetricName: [{ name: 'http_requests_total', value: 4 }],
    });
    expect((await get('/format_query', { query: 'sum(x)by(a)' })).data).toBe('sum by (a) (x)');
  });

  const range = [
    ['start', String(from)],
    ['end', String(now)],
  ] as const;

  /** Requests as Grafana 13's Prometheus data source makes them, and what it needs of the answers. */
  test.each<{
    moment: string;
    method: 'GET' | 'POST';
    path: string;
    parameters: readonly (readonly [string, string])[];
    /** POST with all parameters in the URL and an empty body. */
    inUrl?: boolean;
    isFit: (data: never) => boolean;
  }>([
    {
      moment: 'save and test',
      method: 'POST',
      path: '/query',
      parameters: [
        ['query', '1+1'],
        ['time', '4'],
      ],
      isFit: (data: { result: unknown }) => JSON.stringify(data.result) === '[4,"2"]',
    },
    {
      moment: 'save and test',
      method: 'GET',
      path: '/status/buildinfo',
      parameters: [],
      isFit: (data: { version: string; features?: unknown }) =>
        /^[3-9]\.\d+\.\d+$/.test(data.version) && data.features === undefined,
    },
    {
      moment: 'opening',
      method: 'GET',
      path: '/rules',
      parameters: [],
      isFit: (data: { groups: unknown[] }) => data.groups.length === 0,
    },
    {
      moment: 'opening',
      method: 'POST',
      path: '/query_exemplars',
      parameters: [
        ['query', 'test'],
        ['start', String(nowMs)],
        ['end', String(nowMs + 1)],
      ],
      isFit: (data: unknown[]) => data.length === 0,
    },
    {
      moment: 'metric browser',
      method: 'GET',
      path: '/label/__name__/values',
      parameters: [['limit', '40000'], ...range],
      isFit: (data: string[]) => data.includes('http_requests_total'),
    },
    {
      moment: 'metric browser',
      method: 'POST',
      path: '/labels',
      parameters: [['limit', '40000'], ...range],
      isFit: (data: string[]) => data.includes('code'),
    },
    {
      moment: 'builder',
      method: 'GET',
      path: '/label/code/values',
      parameters: [['limit', '40000'], ...range, ['match[]', '{__name__="http_requests_total"}']],
      isFit: (data: string[]) => data.length === 2,
    },
    {
      moment: 'editor',
      method: 'GET',
      path: '/metadata',
      parameters: [['limit', '40000']],
      isFit: (data: Record<string, unknown[]>) =>
        Object.keys(data).length === 2 && Object.values(data).every((list) => list.length > 0),
    },
    {
      moment: 'series of the browser',
      method: 'POST',
      path: '/series',
      parameters: [['match[]', '{__name__!=""}'], ...range, ['limit', '40000']],
      isFit: (data: unknown[]) => data.length >= 5,
    },
    {
      moment: 'suggestions',
      method: 'POST',
      path: '/labels',
      parameters: [...range, ['match[]', '{__name__="http_requests_total"}']],
      inUrl: true,
      isFit: (data: string[]) => data.length === 4,
    },
    {
      moment: 'panel',
      method: 'POST',
      path: '/query_range',
      parameters: [['query', 'rate(http_requests_total[1m])'], ...range, ['step', '15']],
      isFit: (data: Result) => data.resultType === 'matrix' && data.result.length === 4,
    },
    {
      moment: 'stat panel',
      method: 'POST',
      path: '/query',
      parameters: [
        ['query', 'http_requests_total'],
        ['time', `${now}.000`],
      ],
      isFit: (data: Result) => data.resultType === 'vector' && typeof data.result[0]!.value![1] === 'string',
    },
    {
      moment: 'alert rule',
      method: 'POST',
      path: '/query',
      parameters: [
        ['query', 'http_requests_total > 1e9'],
        ['time', String(now)],
        ['timeout', '30s'],
      ],
      isFit: (data: Result) => data.result.length === 0,
    },
    {
      moment: 'variable of label values',
      method: 'GET',
      path: '/label/instance/values',
      parameters: [...range, ['match[]', 'http_requests_total{code=~"200|500"}']],
      isFit: (data: string[]) => data.join() === 'a:1,b:2',
    },
    {
      moment: 'variable of a query',
      method: 'POST',
      path: '/query',
      parameters: [
        ['query', 'topk(1, http_requests_total)'],
        ['time', String(now)],
      ],
      isFit: (data: Result) => data.result.length === 1,
    },
    {
      moment: 'dashboard with a variable of all',
      method: 'POST',
      path: '/query_range',
      parameters: [
        ['query', 'sum(http_requests_total{instance=~"(a:1|b:2)",code=~".+"}) by (code)'],
        ...range,
        ['step', '60'],
      ],
      isFit: (data: Result) => data.result.length === 2,
    },
    {
      moment: 'builder in old releases',
      method: 'GET',
      path: '/labels',
      parameters: range,
      isFit: (data: string[]) => data.length > 0,
    },
  ])('Grafana, $moment: $method $path', async ({ method, path, parameters, inUrl, isFit }) => {
    const { status, answer } = await request(method, path, parameters, inUrl);
    expect([status, answer.status]).toEqual([200, 'success']);
    expect([answer.data, isFit(answer.data as never)]).toEqual([answer.data, true]);
  });
});
