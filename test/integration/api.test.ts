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

  test.each([
    { name: 'null is an empty array', body: 'null', status: 200 },
    { name: 'nothing', body: '', status: 400 },
    { name: 'an empty array', body: '[]', status: 200 },
    { name: 'text', body: 'hello', status: 400 },
    { name: 'an object', body: '{}', status: 400 },
    { name: 'a number', body: '1', status: 400 },
    { name: 'half an array', body: '[{"name":', status: 400 },
    { name: 'over 4 MB', body: `[${' '.repeat(4_100_000)}]`, status: 413 },
    {
      name: 'only hosts that are not known',
      body: '[{"hostId":"nobody","name":"a","time":1,"value":1}]',
      status: 200,
    },
    { name: '__proto__ as a field', body: '[{"__proto__":{"polluted":1},"constructor":7}]', status: 200 },
  ])('a post of $name is answered $status, in JSON', async ({ body, status }) => {
    const response = await client.request('POST', '/api/v0/tsdb?', body);
    const answer = (await response.json()) as { success?: boolean; error?: { message: string } };
    expect(response.status).toBe(status);
    if (status === 200) expect(answer.success).toBe(true);
    else expect(answer.error?.message).toEqual(expect.any(String));
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
    { name: 'no key', headers: {} },
    { name: 'text that is no key', headers: { 'x-api-key': 'secret' } },
    { name: 'a key nobody has', headers: { 'x-api-key': `ht_${'A'.repeat(12)}_${'A'.repeat(43)}` } },
  ])('answers 401 to $name', async ({ headers }) => {
    for (const [method, path] of [
      ['POST', '/api/v0/tsdb'],
      ['GET', `/api/v0/hosts/${host}/metrics?name=a&from=0&to=1`],
      ['GET', '/api/v0/hosts'],
    ] as const) {
      const response = await patientFetch(stack.url + path, {
        method,
        headers: headers as Record<string, string>,
      });
      expect(response.status).toBe(401);
      expect(await response.json()).toEqual({ error: { message: expect.any(String) } });
    }
  });

  test('answers 401 to the right public id with another secret', async () => {
    const forged = stack.apiKey.slice(0, -1) + (stack.apiKey.endsWith('A') ? 'B' : 'A');
    expect((await new Client(stack.url, forged, true).request('GET', '/api/v0/hosts')).status).toBe(401);
  });

  test.each([
    { path: (h: string) => `/api/v0/hosts/${h}/metrics?name=a&from=5&to=4`, status: 400, says: 'from 5' },
    { path: (h: string) => `/api/v0/hosts/${h}/metrics?name=a&from=x&to=4`, status: 400, says: '"x"' },
    { path: (h: string) => `/api/v0/hosts/${h}/metrics?name=a&from=1.5&to=4`, status: 400, says: '"1.5"' },
    { path: (h: string) => `/api/v0/hosts/${h}/metrics?name=a&from=1`, status: 400, says: 'to is missing' },
    { path: (h: string) => `/api/v0/hosts/${h}/metrics?from=1&to=2`, status: 400, says: 'name' },
    {
      path: (h: string) => `/api/v0/hosts/${h}/metrics?name=custom.good&from=1&to=2&step=x`,
      status: 400,
      says: '"x"',
    },
    {
      path: (h: string) =>
        `/api/v0/hosts/${h}/metrics?name=custom.good&from=${now - 600}&to=${now + 200_000}&step=1`,
      status: 400,
      says: 'more than 100000',
    },
    {
      path: (h: string) => `/api/v0/hosts/${h}/metrics?name=custom.good&from=1&to=2&step=999999999999d`,
      status: 400,
      says: '"999999999999d"',
    },
    {
      path: (h: string) => `/api/v0/hosts/${h}/metrics?name=custom.good&from=1&to=2&aggregate=median`,
      status: 400,
      says: '"median"',
    },
    {
      path: (h: string) => `/api/v0/hosts/${h}/metrics?name=custom.good&from=1&to=1e3`,
      status: 400,
      says: '"1e3"',
    },
    {
      path: (h: string) => `/api/v0/hosts/${h}/metrics?name=custom.good&from=1&to=99999999999999999999`,
      status: 400,
      says: '"99999999999999999999"',
    },
    { path: (h: string) => `/api/v0/hosts/${h}/metrics?name=never&from=1&to=2`, status: 404, says: 'never' },
    { path: () => '/api/v0/hosts/nobody/metrics?name=a&from=1&to=2', status: 404, says: 'nobody' },
    { path: () => '/api/v0/hosts/a%2Fb/metrics?name=a&from=1&to=2', status: 404, says: 'a/b' },
    { path: () => '/api/v0/services/none/metrics?name=a&from=1&to=2', status: 404, says: 'none' },
    { path: () => '/api/v0/services/none/metric-names', status: 404, says: 'none' },
    { path: () => '/api/v0/tsdb/latest?name=a', status: 400, says: 'hostId' },
    { path: () => '/api/v0/nothing/here', status: 404, says: '/api/v0/nothing/here' },
    { path: () => '/assets', status: 404, says: '/assets' },
  ])('a read is answered $status, saying $says', async ({ path, status, says }) => {
    const response = await client.request('GET', path(host));
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ error: { message: expect.stringContaining(says) } });
  });

  test('answers 405, with what is allowed, to a method that a path does not have', async () => {
    const response = await client.request('DELETE', '/api/v0/tsdb');
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
    expect(await response.json()).toEqual({ error: { message: expect.stringContaining('DELETE') } });
  });

  test.each(['/health', '/ping', '/'])('%s needs no key', async (path) => {
    expect((await patientFetch(stack.url + path)).ok).toBe(true);
  });

  test('/health tells nothing of the stage, and /ping is 204 as at InfluxDB', async () => {
    const health = await patientFetch(`${stack.url}/health`);
    expect([health.status, await health.json()]).toMatchObject([200, { status: 'pass' }]);
    const ping = await patientFetch(`${stack.url}/ping`);
    expect([ping.status, await ping.text()]).toEqual([204, '']);
    expect(ping.headers.get('x-influxdb-version')).toMatch(/^1\./);
  });

  test.each([
    { name: '/health', path: () => '/health', status: 200 },
    { name: '/', path: () => '/', status: 200 },
    { name: '/openapi.json', path: () => '/openapi.json', status: 200 },
    { name: '/api/v0/hosts', path: () => '/api/v0/hosts', status: 200 },
    { name: 'of metric names', path: () => `/api/v0/hosts/${host}/metric-names`, status: 200 },
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

  test('keeps hosts: created, found, updated with roles added', async () => {
    const spec = {
      name: 'db1',
      meta: { kernel: { os: 'linux' } },
      roleFullnames: ['shop:db'],
      customIdentifier: 'i-1',
    };
    const { id } = await client.json<{ id: string }>('POST', '/api/v0/hosts', spec);
    const { host: made } = await client.json<{ host: object }>('GET', `/api/v0/hosts/${id}`);
    expect(made).toMatchObject({
      id,
      name: 'db1',
      status: 'working',
      isRetired: false,
      roles: { shop: ['db'] },
      meta: { kernel: { os: 'linux' } },
    });
    await client.json('PUT', `/api/v0/hosts/${id}`, { name: 'db1', meta: {}, roleFullnames: ['blog:db'] });
    const { hosts } = await client.json<{ hosts: object[] }>(
      'GET',
      '/api/v0/hosts?service=blog&role=db&name=db1',
    );
    expect(hosts).toMatchObject([{ id, roles: { blog: ['db'], shop: ['db'] } }]);
    expect((await client.request('PUT', '/api/v0/hosts/nobody', { name: 'x' })).status).toBe(404);
    expect((await client.request('POST', '/api/v0/hosts', { meta: {} })).status).toBe(400);
    expect((await client.request('POST', '/api/v0/hosts', 'null')).status).toBe(400);
    // Names that JavaScript's objects have already.
    const odd = { name: 'odd', roleFullnames: ['constructor:web'] };
    const { id: oddId } = await client.json<{ id: string }>('POST', '/api/v0/hosts', odd);
    await client.json('PUT', `/api/v0/hosts/${oddId}`, { name: 'odd' });
    await client.json('PUT', `/api/v0/hosts/${id}`, odd);
    const deep = `{"name":"deep","meta":{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}}`;
    expect((await client.request('POST', '/api/v0/hosts', deep)).status).toBe(400);
    const large = { name: 'large', meta: { a: 'x'.repeat(500_000) } };
    expect((await client.request('POST', '/api/v0/hosts', large)).status).toBe(413);
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

  test('keeps service metrics, names and latest values', async () => {
    await client.json('POST', '/api/v0/services/shop/tsdb', [
      { name: 'orders', time: now, value: 3 },
      { name: 'orders', time: now - 600, value: 1 },
    ]);
    expect((await client.request('POST', '/api/v0/services/none/tsdb', '[]')).status).toBe(404);
    await eventually<{ names?: string[] }>(
      '/api/v0/services/shop/metric-names',
      ({ names }) => names?.[0] === 'orders',
    );
    await eventually<{ metrics?: unknown[] }>(
      `/api/v0/services/shop/metrics?name=orders&from=${now - 600}&to=${now}`,
      ({ metrics }) => metrics?.length === 2,
    );
    await client.post([
      { hostId: host, name: 'loadavg5', time: now - 120, value: 1 },
      { hostId: host, name: 'loadavg5', time: now - 60, value: 2 },
    ]);
    await eventually<{ tsdbLatest: Record<string, object> }>(
      `/api/v0/tsdb/latest?hostId=${host}&hostId=nobody&name=loadavg5&name=never`,
      ({ tsdbLatest }) =>
        JSON.stringify(tsdbLatest) ===
        JSON.stringify({ [host]: { loadavg5: { time: now - 60, value: 2 } }, nobody: {} }),
    );
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
    // A day is wider than the samples, unless midnight lies between them.
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
    // Without `step`, an aggregate of a short range has steps of a minute.
    const minute = `/api/v0/hosts/${host}/metrics?name=custom.step&aggregate=count&from=${now - 540}&to=${now - 480}`;
    const counts = [now - 540, now - 480].map((time) => ({ time: time - (time % 60), value: 1 }));
    expect(await client.json('GET', minute)).toEqual({ metrics: counts });
  });

  test('answers a range without samples with an empty array', async () => {
    const path = `/api/v0/hosts/${host}/metrics?name=custom.good&from=${now - 7200}&to=${now - 7000}`;
    expect(await client.json('GET', path)).toEqual({ metrics: [] });
    // People paste times in ms and in microseconds.
    for (const scale of [1e3, 1e6]) {
      const pasted = `/api/v0/hosts/${host}/metrics?name=custom.good&from=${now * scale}&to=${now * scale}`;
      expect(await client.json('GET', pasted)).toEqual({ metrics: [] });
    }
  });

  describe('of bad input', () => {
    const read = (query: string) => `/api/v0/hosts/${host}/metrics?${query}`;
    const named = (name: string) => JSON.stringify([point({ name })]);
    const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

    test.each<{ name: string; path?: string; method?: string; body?: string; status: number; says?: string }>(
      [
        { name: 'JSON 1,000 deep', body: `[${deep(1000)}]`, status: 200 },
        { name: 'JSON 100,000 deep', body: deep(100_000), status: 200 },
        { name: 'JSON 1,000,000 deep', body: deep(1_000_000), status: 413, says: 'commas' },
        { name: 'a million entries', body: `[${'1,'.repeat(999_999)}1]`, status: 413, says: 'commas' },
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
        {
          name: 'a repeated parameter of one value',
          method: 'GET',
          path: 'name=custom.good&from=1&from=x&to=2',
          status: 200,
        },
        {
          name: 'a time in floating point',
          method: 'GET',
          path: 'name=custom.good&from=60.0&to=61',
          status: 400,
          says: 'from: expected integer, got "60.0"',
        },
        {
          name: 'a time in exponent form',
          method: 'GET',
          path: 'name=custom.good&from=1&to=6e1',
          status: 400,
          says: 'to',
        },
        {
          name: 'a time beyond 2^53',
          method: 'GET',
          path: 'name=custom.good&from=1&to=9999999999999999',
          status: 400,
          says: 'to',
        },
        { name: 'a name that is broken UTF-8', method: 'GET', path: 'name=%ff%fe&from=1&to=2', status: 404 },
        { name: 'a path with %2F and %00', method: 'GET', path: '/api/v0/hosts/%2F..%2F%00', status: 404 },
        { name: 'a path with a broken escape', method: 'GET', path: '/api/v0/hosts/%zz', status: 404 },
        {
          name: 'a service called __proto__',
          method: 'GET',
          path: '/api/v0/services/__proto__/metric-names',
          status: 404,
        },
        {
          name: 'latest of more pairs than are answered',
          method: 'GET',
          path: `/api/v0/tsdb/latest?${Array.from({ length: 120 }, (_, i) => `hostId=${i}&name=${i}`).join('&')}`,
          status: 400,
          says: '120 x 120',
        },
      ],
    )('$name gets $status', async ({ path = '/api/v0/tsdb', method = 'POST', body, status, says = '' }) => {
      const url = path.startsWith('/') ? path : read(path);
      const response = await client.request(method, url, body);
      const text = await response.text();
      expect({ status: response.status, text }).toEqual({ status, text: expect.any(String) });
      const answer = JSON.parse(text) as { error?: { message: string } };
      if (status !== 200) expect(answer.error?.message).toContain(says);
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

    test('a body that would fill memory once parsed is answered, and no instance ends', async () => {
      // unit/http/json-heap bounds the memory that each takes.
      const bombs = [
        { body: `[${'{},'.repeat(1_300_000)}{}]`, status: 413 },
        { body: `[${'{},'.repeat(190_000)}{}]`, status: 200 },
        { body: deep(1_900_000), status: 413 },
        { body: `[${' '.repeat(5_500_000)}]`, status: 413 },
      ];
      const statuses: number[] = [];
      for (const { body } of bombs)
        statuses.push((await client.request('POST', '/api/v0/tsdb', body)).status);
      expect(statuses).toEqual(bombs.map(({ status }) => status));
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

    test.each([
      { name: 'a precision that is none', path: '/write?precision=fortnight', key: undefined, status: 400 },
      { name: 'a key that is none', path: '/write', key: 'x', status: 401 },
    ])('$name is $status', async ({ path, key, status }) => {
      const headers = { authorization: `Token ${key ?? stack.apiKey}` };
      const response = await patientFetch(new URL(path, stack.url), {
        method: 'POST',
        headers,
        body: 'a b=1',
      });
      expect(response.status).toBe(status);
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
