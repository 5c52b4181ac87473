import { gzipSync } from 'node:zlib';
import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { patientFetch } from '../support/patient-fetch';
import { until } from '../support/until';

describe('the HTTP API', () => {
  let stack: LocalStack;
  let client: Client;
  let host: string;
  const now = Math.floor(Date.now() / 60_000) * 60;

  beforeAll(async () => {
    stack = await startLocalStack({ hasFreedoms: true, settings: SHARED_SETTINGS.shop });
    client = new Client(stack.url, stack.apiKey, true);
    await client.json('POST', '/api/v0/services', { name: 'blog', memo: '' });
    host = await client.createHost('web1');
  });

  afterAll(async () => {
    await stack?.stop();
  });

  const point = (extra: object = {}) => ({
    hostId: host,
    name: 'custom.good',
    time: now,
    value: 1.5,
    ...extra,
  });
  const eventually = <T>(path: string, isThere: (body: T) => boolean) =>
    until(path, async () => (await (await client.request('GET', path)).json()) as T, isThere);

  test('stores the good points of a post and counts the bad ones', async () => {
    const bad = [
      point({ name: 'no spaces' }),
      point({ value: null }),
      point({ value: 'text' }),
      point({ time: undefined }),
      point({ time: -5 }),
      point({ time: now + 0.5 }),
      point({ time: now - 25 * 3600 }),
      point({ time: now + 25 * 3600 }),
      point({ hostId: 'nobody' }),
      7,
    ];
    const body = JSON.stringify([...bad, point()]).replace('"text"', '1e999');
    expect(await client.json('POST', '/api/v0/tsdb', body)).toEqual({
      success: true,
      dropped: { name: 1, value: 2, time: 3, tooOld: 1, tooNew: 1, point: 1, unknownHost: 1 },
      hint: [
        'name: expected 1 to 255 letters (a-z, A-Z), digits, dots, hyphens and underscores',
        'value: expected a finite number, not text',
        'time: expected whole seconds since 1970',
        'tooOld: older than 24 h',
        'tooNew: more than 24 h ahead',
        'point: expected an object with name, time and value',
      ].join('; '),
    });
    await eventually<{ metrics?: unknown[] }>(
      `/api/v0/hosts/${host}/metrics?name=custom.good&from=${now - 60}&to=${now}`,
      ({ metrics }) => JSON.stringify(metrics) === JSON.stringify([{ time: now, value: 1.5 }]),
    );
  });

  test('answers a read of several metrics with those that exist, side by side', async () => {
    await client.post([
      point({ name: 'custom.side.a', value: 1 }),
      point({ name: 'custom.side.b', time: now - 60, value: 2 }),
    ]);
    const read = (names: string) => `/api/v1/hosts/${host}/metrics?name=${names}&from=${now - 60}&to=${now}`;
    await eventually<object>(
      read('custom.side.a&name=custom.side.none&name=custom.side.b'),
      (body) =>
        JSON.stringify(body) ===
        JSON.stringify({
          times: [(now - 60) * 1000, now * 1000],
          series: [
            { name: 'custom.side.a', values: [null, 1] },
            { name: 'custom.side.b', values: [2, null] },
          ],
        }),
    );
    expect(await client.json('GET', read('custom.side.none'))).toEqual({ times: [], series: [] });
  });

  test('says what is likely wrong when times are in another unit', async () => {
    expect(await client.json('POST', '/api/v0/tsdb', [point({ time: now * 1000 })])).toEqual({
      success: true,
      dropped: { tooNew: 1 },
      hint: 'tooNew: more than 24 h ahead; times look like milliseconds (the first at index 0): send seconds',
    });
    const lines = await client.request('POST', '/write', `a b=1\na b=1 ${now}`);
    expect([lines.status, await lines.json()]).toEqual([
      400,
      {
        error:
          'partial write: 1 points older than 24 h dropped; line 2: timestamps look like seconds: add precision=s',
      },
    ]);
  });

  test('accepts gzip, and refuses what expands beyond 4 MB', async () => {
    const send = (body: Buffer) =>
      patientFetch(`${stack.url}/api/v0/tsdb`, {
        method: 'POST',
        headers: {
          'x-api-key': stack.apiKey,
          'content-type': 'application/json',
          'content-encoding': 'gzip',
        },
        body: new Uint8Array(body),
      });
    expect((await send(gzipSync(JSON.stringify([point()])))).status).toBe(200);
    expect((await send(gzipSync(Buffer.alloc(80_000_000, 32)))).status).toBe(413);
    expect((await send(Buffer.from('[]'))).status).toBe(400);
  });

  test.each([
    { path: 'metrics?name=a&from=x&to=4', status: 400, says: '"x"' },
    { path: 'metrics?name=a&from=60.0&to=61', status: 400, says: 'from: expected integer, got "60.0"' },
    { path: 'metrics?name=a&from=1', status: 400, says: 'to is missing' },
    { path: 'metrics?name=a&from=1&to=6e1', status: 400, says: '"6e1"' },
    { path: 'metrics?name=a&from=1&to=9999999999999999', status: 400, says: '"9999999999999999"' },
    { path: 'metrics?from=1&to=2', status: 400, says: 'name' },
    { path: 'metrics?name=custom.good&from=1&to=2&step=x', status: 400, says: '"x"' },
    {
      path: `metrics?name=custom.good&from=${now - 600}&to=${now + 200_000}&step=1`,
      status: 400,
      says: '100000',
    },
    { path: 'metrics?name=custom.good&from=1&to=2&step=999999999999d', status: 400, says: '"999999999999d"' },
    { path: 'metrics?name=custom.good&from=1&to=2&aggregate=median', status: 400, says: '"median"' },
    { path: 'metrics?name=never&from=1&to=2', status: 404, says: 'never' },
    { path: 'metrics?name=%ff%fe&from=1&to=2', status: 404, says: '' },
    { path: '/api/v0/hosts/%2F..%2F%00', status: 404, says: '' },
    { path: '/api/v0/hosts/%zz', status: 404, says: '' },
    { path: '/api/v0/services/__proto__/metric-names', status: 404, says: '__proto__' },
    { path: '/api/v0/tsdb/latest?name=a', status: 400, says: 'hostId' },
    {
      path: `/api/v0/tsdb/latest?${Array.from({ length: 120 }, (_, i) => `hostId=${i}&name=${i}`).join('&')}`,
      status: 400,
      says: '120 hosts x 120 names',
    },
    { path: '/api/v0/nothing/here', status: 404, says: '/api/v0/nothing/here' },
    { path: '/assets', status: 404, says: '/assets' },
  ])('a read is answered $status, saying $says: $path', async ({ path, status, says }) => {
    const response = await client.request(
      'GET',
      path.startsWith('/') ? path : `/api/v0/hosts/${host}/${path}`,
    );
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ error: { message: expect.stringContaining(says) } });
  });

  test('answers 405, with what is allowed, to a method that a path does not have', async () => {
    const response = await client.request('DELETE', '/api/v0/tsdb');
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
    expect(await response.json()).toEqual({ error: { message: expect.stringContaining('DELETE') } });
  });

  test('/health and /ping need no key; /health tells nothing of the stage, and /ping is 204 as at InfluxDB', async () => {
    const health = await patientFetch(`${stack.url}/health`);
    expect([health.status, await health.json()]).toMatchObject([200, { status: 'pass' }]);
    const ping = await patientFetch(`${stack.url}/ping`);
    expect([ping.status, await ping.text()]).toEqual([204, '']);
    expect(ping.headers.get('x-influxdb-version')).toMatch(/^1\./);
  });

  test.each([
    { name: '/health', path: () => '/health', status: 200 },
    { name: '/', path: () => '/', status: 200 },
    { name: '/api/v0/hosts/nobody', path: () => '/api/v0/hosts/nobody', status: 404 },
    { name: '/nothing', path: () => '/nothing', status: 404 },
    { name: '/api/v0/tsdb', path: () => '/api/v0/tsdb', status: 405 },
  ])('HEAD $name is answered $status as GET is, without the body', async ({ path, status }) => {
    const head = await client.request('HEAD', path());
    expect([head.status, await head.text()]).toEqual([status, '']);
    const get = await client.request('GET', path());
    expect([get.status, head.headers.get('content-type')]).toEqual([status, get.headers.get('content-type')]);
    await get.text();
  });

  test.each([
    { name: 'Bearer', headers: () => ({ authorization: `Bearer ${stack.apiKey}` }) },
    { name: 'Token', headers: () => ({ authorization: `Token ${stack.apiKey}` }) },
    {
      name: 'Basic, as the password',
      headers: () => ({ authorization: `Basic ${Buffer.from(`user:${stack.apiKey}`).toString('base64')}` }),
    },
  ])('takes the key as $name on reads and writes', async ({ headers }) => {
    const send = (method: string, path: string, body?: string) =>
      patientFetch(stack.url + path, { method, body, headers: headers() });
    const statuses = await Promise.all([
      send('GET', '/api/v0/org'),
      send('GET', '/api/v1/status'),
      send('POST', '/api/v0/tsdb', '[]'),
      send('POST', '/write', 'a b=1'),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 200, 204]);
  });

  test("serves Telegraf's outputs.influxdb: it creates its database, then writes, with a password", async () => {
    const authorization = `Basic ${Buffer.from(`telegraf:${stack.apiKey}`).toString('base64')}`;
    const created = await patientFetch(`${stack.url}/query`, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams({ q: 'CREATE DATABASE "telegraf"' }),
    });
    expect([created.status, await created.json()]).toEqual([200, { results: [{ statement_id: 0 }] }]);
    const write = `/write?consistency=any&db=telegraf&precision=ns&rp=`;
    const body = `v1,host=web8 value=1 ${now}000000000\n`;
    expect(
      (await patientFetch(stack.url + write, { method: 'POST', headers: { authorization }, body })).status,
    ).toBe(204);
    const inAddress = `${stack.url}${write}&u=telegraf&p=${encodeURIComponent(stack.apiKey)}`;
    expect((await patientFetch(inAddress, { method: 'POST', body })).status).toBe(204);
    const other = await patientFetch(`${stack.url}/query?q=SHOW%20DATABASES`, { headers: { authorization } });
    expect([other.status, await other.json()]).toEqual([
      400,
      { error: expect.stringContaining('CREATE DATABASE') },
    ]);
  });

  test("takes hosts whose services have names that JavaScript's objects have already", async () => {
    const odd = { name: 'odd', roleFullnames: ['constructor:web'] };
    const { id } = await client.json<{ id: string }>('POST', '/api/v0/hosts', odd);
    await client.json('PUT', `/api/v0/hosts/${id}`, { name: 'odd' });
    expect(await client.json('GET', `/api/v0/hosts/${id}`)).toMatchObject({
      host: { roles: { constructor: ['web'] } },
    });
  });

  test('a service can be posted to from the moment it exists, in every instance that was asked before', async () => {
    const post = () => client.request('POST', '/api/v0/services/newborn/tsdb', '[]');
    // Concurrent requests are handled by several instances.
    const statuses = async () =>
      (await Promise.all(Array.from({ length: 6 }, post))).map(({ status }) => status);
    expect(await statuses()).toEqual(Array(6).fill(404));
    await client.json('POST', '/api/v0/services', { name: 'newborn' });
    expect(await statuses()).toEqual(Array(6).fill(200));
  });

  test('says for each tier how long it took and how many samples it gave, and averages by step', async () => {
    await client.post(
      [0, 60, 120].map((s) => ({ hostId: host, name: 'custom.step', time: now - 600 + s, value: s / 60 })),
    );
    const path = `/api/v0/hosts/${host}/metrics?name=custom.step&from=${now - 600}&to=${now}`;
    await eventually<{ metrics?: unknown[] }>(path, ({ metrics }) => metrics?.length === 3);
    const timing = (await client.request('GET', path)).headers.get('server-timing');
    expect(timing).toMatch(
      /^hot;dur=[\d.]+;desc="3 samples";spans="\d+-\d+( \d+-\d+)*", warm;dur=[\d.]+;desc="0 samples";spans="", cold;/,
    );
    // A step of a day is longer than the span of the samples, unless they are on both sides of midnight.
    const days = new Map<number, number[]>();
    for (const minute of [0, 1, 2]) {
      const day = Math.floor((now - 600 + minute * 60) / 86_400) * 86_400;
      days.set(day, [...(days.get(day) ?? []), minute]);
    }
    const means = [...days].map(([time, values]) => ({
      time,
      value: values.reduce((sum, value) => sum + value, 0) / values.length,
    }));
    expect(await client.json('GET', `${path}&step=1d`)).toEqual({ metrics: means });
    const maxima = [...days].map(([time, values]) => ({ time, value: Math.max(...values) }));
    expect(await client.json('GET', `${path}&step=86400&aggregate=max`)).toEqual({ metrics: maxima });
    // Without `step`, an aggregate over a short range has steps of one minute.
    const minute = `/api/v0/hosts/${host}/metrics?name=custom.step&aggregate=count&from=${now - 540}&to=${now - 480}`;
    const counts = [now - 540, now - 480].map((time) => ({ time: time - (time % 60), value: 1 }));
    expect(await client.json('GET', minute)).toEqual({ metrics: counts });
  });

  test('answers times that were pasted in ms or in microseconds with an empty array', async () => {
    for (const scale of [1e3, 1e6]) {
      const pasted = `/api/v0/hosts/${host}/metrics?name=custom.good&from=${now * scale}&to=${now * scale}`;
      expect(await client.json('GET', pasted)).toEqual({ metrics: [] });
    }
  });

  describe('of bad input', () => {
    const named = (name: string) => JSON.stringify([point({ name })]);
    const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

    test.each<{ name: string; path?: string; method?: string; body?: string; status: number; says?: string }>(
      [
        { name: 'JSON 1,000 deep', body: `[${deep(1000)}]`, status: 200 },
        { name: 'JSON 100,000 deep', body: deep(100_000), status: 200 },
        { name: 'a million objects', body: `[${'{},'.repeat(999_999)}{}]`, status: 413, says: 'commas' },
        {
          name: '300,000 keys',
          body: `{${Array.from({ length: 300_000 }, (_, i) => `"k${i}":1`)}}`,
          status: 400,
        },
        { name: 'a name of 10,000 characters', body: named('x'.repeat(10_000)), status: 200 },
        { name: '__proto__ as a name', body: named('__proto__'), status: 200 },
        { name: 'constructor as a name', body: named('constructor'), status: 200 },
        {
          name: 'a lone surrogate as a name',
          body: '[{"hostId":"a","name":"\\ud800","time":1,"value":1}]',
          status: 200,
        },
        { name: 'a NUL byte in a name', body: named('a\u0000b'), status: 200 },
        { name: 'a NUL byte outside of text', body: '[\u0000]', status: 400 },
        { name: 'a byte order mark', body: '\ufeff[]', status: 400 },
        { name: 'duplicate keys', body: '[{"name":1,"name":"a","time":1}]', status: 200 },
        {
          name: '60.0 as a time, which is an integer',
          body: '[{"hostId":"a","name":"a","time":60.0,"value":1}]',
          status: 200,
        },
        { name: '1e999 as a time', body: '[{"hostId":"a","name":"a","time":1e999,"value":1}]', status: 200 },
        { name: 'nothing', body: '', status: 400 },
        { name: 'text', body: 'hello', status: 400 },
        { name: 'half an array', body: '[{"name":', status: 400 },
        { name: '5 MB of spaces', body: `[${' '.repeat(5_500_000)}]`, status: 413 },
        { name: '__proto__ as a field', body: '[{"__proto__":{"polluted":1},"constructor":7}]', status: 200 },
        {
          name: 'a host with meta of 500 KB',
          path: '/api/v0/hosts',
          body: JSON.stringify({ name: 'large', meta: { a: 'x'.repeat(500_000) } }),
          status: 413,
        },
        { name: 'a host that is null', path: '/api/v0/hosts', body: 'null', status: 400 },
        { name: 'a string', body: '"[]"', status: 400, says: 'expected array, got "[]"' },
        {
          name: 'parameters nobody knows',
          path: '/api/v0/tsdb?__proto__=1&a&a=%zz&=',
          body: '[]',
          status: 200,
        },
        {
          name: 'a host whose name is an object',
          path: '/api/v0/hosts',
          body: '{"name":{}}',
          status: 400,
          says: 'name: expected string, got an object',
        },
        {
          name: 'a host with lone surrogates and NUL',
          path: '/api/v0/hosts',
          body: '{"name":"\\ud800\\u0000","customIdentifier":"\\udfff"}',
          status: 200,
        },
        {
          name: 'a host with meta 100,000 deep',
          path: '/api/v0/hosts',
          body: `{"name":"x","meta":{"a":${deep(100_000)}}}`,
          status: 400,
          says: 'nested too deep',
        },
        {
          name: 'metadata 50,000 deep',
          method: 'PUT',
          path: '/api/v0/services/shop/metadata/deep',
          body: deep(50_000),
          status: 200,
        },
        {
          name: 'which is read again',
          method: 'GET',
          path: '/api/v0/services/shop/metadata/deep',
          status: 200,
        },
      ],
    )('$name gets $status', async ({ path = '/api/v0/tsdb', method = 'POST', body, status, says = '' }) => {
      const response = await client.request(method, path, body);
      const text = await response.text();
      expect({ status: response.status, text }).toEqual({ status, text: expect.any(String) });
      const parsed = JSON.parse(text) as { error?: { message: string } };
      if (status !== 200) expect(parsed.error?.message).toContain(says);
    });

    test.each<{ name: string; headers: Record<string, string>; status: number }>([
      { name: 'text/plain', headers: { 'content-type': 'text/plain' }, status: 200 },
      {
        name: 'application/octet-stream',
        headers: { 'content-type': 'application/octet-stream' },
        status: 200,
      },
      { name: 'no content type', headers: { 'content-type': '' }, status: 200 },
      { name: 'brotli', headers: { 'content-encoding': 'br' }, status: 415 },
      { name: 'gzip twice', headers: { 'content-encoding': 'gzip, gzip' }, status: 415 },
      { name: 'identity', headers: { 'content-encoding': 'identity' }, status: 200 },
    ])('a body said to be $name gets $status', async ({ headers, status }) => {
      const response = await client.request('POST', '/api/v0/tsdb', '[]', headers);
      expect(response.status).toBe(status);
      expect(await response.json()).toBeDefined();
    });
  });

  describe('of line protocol', () => {
    const body = `cpu,host=web9,cpu=cpu0 user=1.5,system=2i,note="x" ${now * 1000 + 7}\nmem,host=web9 free=3 ${now * 1000 + 7}\n`;
    const series = `label=${encodeURIComponent('host=web9')}`;

    test('stores what Telegraf sends as it was sent, gzip and token included, and gives it back by its labels', async () => {
      const response = await patientFetch(new URL('/api/v2/write?org=o&bucket=b&precision=ms', stack.url), {
        method: 'POST',
        headers: {
          authorization: `Token ${stack.apiKey}`,
          'content-encoding': 'gzip',
          'content-type': 'text/plain',
        },
        body: gzipSync(body),
      });
      expect([response.status, await response.text()]).toEqual([204, '']);
      const path = `/api/v1/series/metrics?name=cpu_user&${series}&label=cpu=cpu0&from=${now}&to=${now}`;
      await eventually<{ metrics?: unknown[] }>(
        path,
        ({ metrics }) => JSON.stringify(metrics) === JSON.stringify([{ time: now + 0.007, value: 1.5 }]),
      );
      const listed = await client.json<{ series: Record<string, string>[] }>(
        'GET',
        `/api/v1/series?${series}`,
      );
      expect(listed.series.map(({ __name__ }) => __name__).sort()).toEqual([
        'cpu_system',
        'cpu_user',
        'mem_free',
      ]);
    });

    test.each([
      { path: '/write', error: (message: string) => ({ error: message }) },
      { path: '/api/v2/write', error: (message: string) => ({ code: 'invalid', message, line: 2 }) },
    ])('$path keeps the good lines and tells the first bad one by its number', async ({ path, error }) => {
      const response = await client.request(
        'POST',
        `${path}?precision=s`,
        `a good=1 ${now}\nbad\na good=x ${now}`,
      );
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual(
        error(
          'partial write: unable to parse line 2: missing fields; unable to parse line 3: bad field value',
        ),
      );
    });

    test('a precision that is none is 400', async () => {
      expect((await client.request('POST', '/write?precision=fortnight', 'a b=1')).status).toBe(400);
    });

    test.each([
      { name: 'no label', query: 'name=cpu_user' },
      { name: 'a label that is none', query: 'name=cpu_user&label=host' },
      { name: 'a label twice', query: 'name=cpu_user&label=a=1&label=a=2' },
    ])('$name is 400', async ({ query }) => {
      const path = `/api/v1/series/metrics?${query}&from=${now}&to=${now}`;
      expect((await client.request('GET', path)).status).toBe(400);
    });
  });
});
