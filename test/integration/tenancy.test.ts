import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import {
  BatchExecuteStatementCommand,
  DynamoDBClient,
  PutItemCommand,
  paginateScan,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { paginateListObjectsV2 } from '@aws-sdk/client-s3';
import { localAws } from '../../scripts/local/provision';
import { physicalName } from '../../scripts/local/template';
import { Functions } from '../../scripts/ops/invoke';
import type { UsageReport } from '../../scripts/ops/usage';
import { ColdTier } from '../../shared/cold/cold-tier';
import { Manifest } from '../../shared/cold/manifest';
import { HotKeys } from '../../shared/hot/hot-keys';
import { HotTier } from '../../shared/hot/hot-tier';
import { sourceOf } from '../../shared/model/labels';
import { dayOf, partitionOf, sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import type { Tier } from '../../shared/model/tier';
import { eraseTenant } from '../../shared/operations/erase-tenant';
import type { TenantStatus } from '../../shared/operations/status';
import type { TenantAdvice } from '../../shared/operations/tenant-advice';
import type { TenantDescription } from '../../shared/operations/tenant-commands';
import { type ItemKey, metaKeys } from '../../shared/platform/keys';
import { ENV, type FunctionName, functionName } from '../../shared/platform/names';
import { parseSettings } from '../../shared/platform/settings';
import type { Table } from '../../shared/platform/table';
import type { TierPlaces } from '../../shared/query/where';
import { RecoveryTable } from '../../shared/recovery/recovery-table';
import { HostCount } from '../../shared/registry/host-count';
import { Hosts } from '../../shared/registry/hosts';
import { Services } from '../../shared/registry/services';
import { ApiKeys, type KeyDescription } from '../../shared/tenancy/api-keys';
import { firstFreeDay, planEpoch } from '../../shared/tenancy/epochs';
import { Tenants } from '../../shared/tenancy/tenants';
import { UsageTable } from '../../shared/tenancy/usage-table';
import { WarmTier } from '../../shared/warm/warm-tier';
import { expectRefusals } from '../support/aws-contract';
import { Client } from '../support/client';
import { type LocalStack, SHARED_SETTINGS, startLocalStack } from '../support/local-stack';
import { ops, runOps } from '../support/ops';
import { Stores } from '../support/stores';
import { until } from '../support/until';

let stack: LocalStack;
let meta: Table;
let stores: Stores;
let functions: Functions;
/** A tenant that has queried. The last test checks that its queries are counted. */
let reader: { readonly client: Client; readonly id: string };
const now = Math.floor(Date.now() / 60_000) * 60;

beforeAll(async () => {
  stack = await startLocalStack({ settings: SHARED_SETTINGS.fewPartitions });
  meta = {
    client: new DynamoDBClient(localAws(Number(new URL(stack.awsEndpoint).port))),
    name: physicalName('MetaTable'),
  };
  stores = new Stores(stack);
  functions = new Functions(stack.url);
});

afterAll(async () => {
  functions?.close();
  await stores?.close();
  meta?.client.destroy();
  await stack?.stop();
});

interface CreatedKey {
  readonly key: string;
  readonly publicId: string;
}

// Calls the operator function as the commands do, but starts no process. Some tests below run the commands
// themselves.
const createTenant = (name: string) =>
  functions.invoke<{ id: string }>('operator', { command: 'tenants create', name });
const createKey = (tenant: string, rights: string, ...more: string[]) =>
  more.length > 0
    ? ops<CreatedKey>(stack.url, 'keys', 'create', '--tenant', tenant, '--rights', rights, ...more)
    : functions.invoke<CreatedKey>('operator', { command: 'keys create', tenant, rights: rights.split(',') });

describe('keys', () => {
  let acme: Record<'both' | 'read' | 'write' | 'revoked' | 'expired', string>;
  let host: string;
  let others: Client;

  beforeAll(async () => {
    await ops(stack.url, 'tenants', 'create', 'acme');
    await createTenant('umbrella');
    const [both, read, write, gone] = await Promise.all([
      createKey('acme', 'read,write', '--expires', '30d'),
      createKey('acme', 'read'),
      createKey('acme', 'write'),
      createKey('acme', 'write,read'),
    ]);
    await ops(stack.url, 'keys', 'revoke', gone.publicId);
    // A key made long ago, so that the test need not wait until it expires.
    const old = await new ApiKeys(meta, () => 1000).create({ tenant: 'acme', rights: ['read'] }, 5000);
    acme = { both: both.key, read: read.key, write: write.key, revoked: gone.key, expired: old.key };
    host = await new Client(stack.url, both.key).createHost('web1');
    others = new Client(stack.url, (await createKey('umbrella', 'read,write')).key);
  });

  const altered = (key: string) => key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A');

  test.each<{ name: string; key: () => string | undefined; read: number; write: number }>([
    { name: 'no key', key: () => undefined, read: 401, write: 401 },
    { name: 'an empty key', key: () => '', read: 401, write: 401 },
    { name: 'text that is no key', key: () => 'secret', read: 401, write: 401 },
    { name: 'a key cut short', key: () => acme.both.slice(0, -1), read: 401, write: 401 },
    { name: 'a key and more', key: () => `${acme.both}A`, read: 401, write: 401 },
    { name: 'an unknown key', key: () => `ht_${'A'.repeat(12)}_${'A'.repeat(43)}`, read: 401, write: 401 },
    { name: 'a public id with another secret', key: () => altered(acme.both), read: 401, write: 401 },
    { name: 'a revoked key', key: () => acme.revoked, read: 401, write: 401 },
    { name: 'an expired key', key: () => acme.expired, read: 401, write: 401 },
    { name: 'a key that may read', key: () => acme.read, read: 200, write: 403 },
    { name: 'a key that may write', key: () => acme.write, read: 403, write: 200 },
    { name: 'a key that may do both, and expires later', key: () => acme.both, read: 200, write: 200 },
  ])('$name gets $read for a read and $write for a write', async ({ key, read, write }) => {
    const value = key();
    const headers: Record<string, string> = value === undefined ? {} : { 'x-api-key': value };
    const statuses = await Promise.all([
      fetch(`${stack.url}/api/v0/hosts`, { headers }),
      fetch(`${stack.url}/api/v0/tsdb/latest?hostId=${host}&name=a`, { headers }),
      fetch(`${stack.url}/api/v0/tsdb`, { method: 'POST', body: '[]', headers }),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([read, read, write]);
    for (const response of statuses) {
      const answer = (await response.json()) as { error?: { message: string } };
      if (response.status === 200) expect(answer.error).toBeUndefined();
      else expect(answer).toEqual({ error: { message: expect.any(String) } });
    }
  });

  test('a valid key of another tenant finds nothing of this tenant', async () => {
    const statuses = await Promise.all(
      [
        ['GET', `/api/v0/hosts/${host}`],
        ['PUT', `/api/v0/hosts/${host}`, { name: 'mine' }],
        ['GET', `/api/v0/hosts/${host}/metrics?name=custom.a&from=0&to=${now}`],
        ['GET', `/api/v0/hosts/${host}/metric-names`],
        ['POST', '/api/v0/tsdb', [{ hostId: host, name: 'custom.a', time: now, value: 1 }]],
      ].map(([method, path, body]) => others.request(method as string, path as string, body)),
    );
    expect(statuses.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    expect(await others.json('GET', '/api/v0/hosts')).toEqual({ hosts: [] });
    expect(await others.json('GET', `/api/v0/tsdb/latest?hostId=${host}&name=custom.a`)).toEqual({
      tsdbLatest: { [host]: {} },
    });
  });

  test('are two at a time for each set of rights, listed without what opens', async () => {
    await createKey('umbrella', 'read,write');
    await expect(createKey('umbrella', 'write,read')).rejects.toThrow(/^the tenant has 2 keys/);
    const { keys: listed } = await ops<{ keys: KeyDescription[] }>(
      stack.url,
      'keys',
      'list',
      '--tenant',
      'umbrella',
    );
    expect(listed).toHaveLength(2);
    for (const key of listed)
      expect(Object.keys(key).sort()).toEqual(['createdAt', 'publicId', 'rights', 'tenant']);
    await ops(stack.url, 'keys', 'revoke', listed[1]!.publicId);
    await createKey('umbrella', 'read,write');
    // An expired key no longer counts.
    const { keys: slots } = await ops<{ keys: KeyDescription[] }>(
      stack.url,
      'keys',
      'list',
      '--tenant',
      'acme',
    );
    expect(slots.filter(({ rights }) => rights.join() === 'read')).toHaveLength(2);
    await createKey('acme', 'read');
  });

  test('made by an operator command for itself do not count as one of the two', async () => {
    const own = { tenant: 'umbrella', rights: ['read'], expiresAt: Date.now() + 60_000, isOfCommand: true };
    await createKey('umbrella', 'read');
    await createKey('umbrella', 'read');
    const create = () => functions.invoke<CreatedKey>('operator', { command: 'keys create', ...own });
    const made = await Promise.all([create(), create(), create(), create()]);
    await expect(create()).rejects.toThrow(
      /^the tenant has 4 keys of operator commands with the rights read/,
    );
    await ops(stack.url, 'keys', 'revoke', made[0]!.publicId);
    await create();
    const { expiresAt: _, ...unlimited } = own;
    await expect(functions.invoke('operator', { command: 'keys create', ...unlimited })).rejects.toThrow(
      'expiresAt: a key of a command needs it',
    );
  });

  test('that expire beyond the calendar are refused, because no list could show them', async () => {
    const { code, err } = await runOps(
      ...['keys', 'create', '--tenant', 'umbrella', '--rights', 'write', '--expires', '99999999d'],
      ...['--url', stack.url],
    );
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining('99999999d is out of range.'),
    });
    const event = { command: 'keys create', tenant: 'umbrella', rights: ['write'], expiresAt: 8.64e15 + 1 };
    await expect(functions.invoke('operator', event)).rejects.toThrow('expiresAt: ');
  });

  test('are refused 30 s after they were revoked or at once when they expire, on an instance that knew them', async () => {
    let clock = Date.now();
    const instance = new ApiKeys(meta, () => clock);
    await createTenant('clocked');
    const [kept, limited] = await Promise.all([
      createKey('clocked', 'read,write'),
      createKey('clocked', 'read', '--expires', '1h'),
    ]);
    expect(await instance.verify(kept.key)).toEqual({ tenant: 'clocked', rights: ['read', 'write'] });
    await ops(stack.url, 'keys', 'revoke', kept.publicId);
    clock += 30_000;
    expect(await instance.verify(kept.key)).toBeUndefined();
    expect(await instance.verify(limited.key)).toBeDefined();
    clock += 3_600_000;
    expect(await instance.verify(limited.key)).toBeUndefined();
    expect(await new ApiKeys(meta).list(tenantIdOf('clocked'))).toHaveLength(1);
  });
});

/** Finds every key, item and object that contains the tenant's id or the name of one of its hosts. */
async function traces(id: string): Promise<string[]> {
  const found: string[] = [];
  for (const key of await stores.redis.keys('*')) if (key.includes(id)) found.push(`hot ${key}`);
  for (const name of [physicalName('WarmTable'), meta.name])
    for await (const page of paginateScan({ client: meta.client }, { TableName: name }))
      for (const { pk, sk } of page.Items ?? [])
        if (`${pk!.S} ${sk!.S}`.includes(id)) found.push(`${name} ${pk!.S}`);
  const pages = paginateListObjectsV2({ client: stores.s3 }, { Bucket: stack.bucket });
  for await (const { Contents = [] } of pages)
    for (const { Key } of Contents) if (Key!.includes(id)) found.push(`cold ${Key}`);
  return found;
}

describe('limits', () => {
  const clientOf = async (name: string, ...limits: string[]) => {
    const { id } = await createTenant(name);
    if (limits.length > 0)
      await ops(stack.url, 'tenants', 'set', name, ...limits.flatMap((limit) => ['--limit', limit]));
    return { id, client: new Client(stack.url, (await createKey(name, 'read,write')).key) };
  };
  /** Points with these names, all in the same clock minute. */
  const points = (hostId: string, names: readonly string[]) =>
    names.map((name) => ({ hostId, name, time: now - 60, value: 1 }));
  const many = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => `custom.${prefix}.${i}`);
  const said = async (response: Response) =>
    ((await response.json()) as { error: { message: string } }).error;

  /** Sends a request until it is refused. A new clock minute may begin in between. */
  const untilRefused = async (send: () => Promise<Response>, most: number) => {
    for (let accepted = 0; ; accepted++) {
      const response = await send();
      if (response.status !== 200) return { accepted, response };
      expect(accepted).toBeLessThan(most);
    }
  };

  test('of samples a minute: 429 beyond, with the seconds that are left of the minute', async () => {
    const { client } = await clientOf('chatty', 'samplesPerMinute=50');
    const host = await client.createHost('web1');
    const send = () => client.request('POST', '/api/v0/tsdb', points(host, many('a', 20)));
    // Together, two instances of `post` admit three requests, and each admits one more before it hears of the other. A
    // new clock minute may begin, so this may happen twice.
    const { accepted, response } = await untilRefused(send, 10);
    expect(accepted).toBeGreaterThanOrEqual(3);
    expect(response.status).toBe(429);
    const seconds = Number(response.headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(await said(response)).toEqual({ message: expect.stringContaining('samplesPerMinute of 50') });
    // Reads continue, and other tenants are not affected.
    expect((await client.request('GET', '/api/v0/hosts')).status).toBe(200);
    expect((await new Client(stack.url, stack.apiKey).request('POST', '/api/v0/tsdb', '[]')).status).toBe(
      200,
    );
  });

  const old = Array.from({ length: 20 }, () => ({ hostId: 'a', name: 'a.b', time: 1, value: 1 }));
  test.each([
    { name: 'samples that are too old', path: '/api/v0/tsdb', body: JSON.stringify(old), status: 200 },
    { name: 'samples of unknown hosts', path: '/api/v0/tsdb', body: '', status: 404 },
    { name: 'a body that is no JSON', path: '/api/v0/tsdb', body: '['.repeat(20_000), status: 400 },
    { name: 'bad lines', path: '/write', body: 'no line\n'.repeat(20), status: 400 },
    { name: 'old lines', path: '/api/v2/write', body: 'a v=1 1\n'.repeat(20), status: 400 },
    {
      name: 'a body that is too large once decompressed',
      path: '/write',
      body: gzipSync(Buffer.alloc(5_000_000)),
      headers: { 'content-encoding': 'gzip' },
      status: 413,
    },
    {
      name: 'remote write that is no snappy block',
      path: '/prometheus/api/v1/write',
      body: 'x'.repeat(20_000),
      headers: { 'content-encoding': 'snappy' },
      status: 400,
    },
    {
      name: 'OTLP that is no JSON',
      path: '/v1/metrics',
      body: '['.repeat(20_000),
      headers: { 'content-type': 'application/json' },
      status: 400,
    },
  ])('of samples a minute is used by $name, too', async ({ path, body, headers = {}, status }) => {
    const tenant = `refused-${randomUUID()}`;
    await createTenant(tenant);
    await functions.invoke('operator', {
      command: 'tenants set',
      name: tenant,
      limits: { samplesPerMinute: 50 },
    });
    const { key } = await createKey(tenant, 'write');
    const unknown = JSON.stringify(points('unknown', many('a', 20)));
    const send = () =>
      fetch(`${stack.url}${path}`, {
        method: 'POST',
        headers: { 'x-api-key': key, ...headers },
        body: body === '' ? unknown : new Uint8Array(Buffer.from(body)),
      });
    // As above: two instances of `post`, in at most two clock minutes.
    for (let sent = 0; ; sent++) {
      const response = await send();
      await response.arrayBuffer();
      if (response.status === 429) break;
      expect(response.status).toBe(status);
      expect(sent).toBeLessThan(10);
    }
  });

  test('of queries: at once, and of their seconds a minute; each API refuses in its own shape', async () => {
    const usage = new UsageTable(meta);
    const signal = new AbortController().signal;
    const minutes = () => [0, 1, 2].map((ahead) => Math.floor(Date.now() / 60_000) + ahead);
    const ask = async (client: Client) => {
      const paths = [
        '/api/v1/series',
        '/prometheus/api/v1/query?query=up',
        '/prometheus/api/v1/label/__name__/values',
      ];
      const answers = await Promise.all(paths.map((path) => client.request('GET', path)));
      return Promise.all(
        answers.map(async (each) => ({
          status: each.status,
          retryAfter: Number(each.headers.get('retry-after')),
          body: (await each.json()) as unknown,
        })),
      );
    };

    const spent = await clientOf('reader', 'querySecondsPerMinute=10');
    // Report query time, as other instances do.
    for (const minute of minutes()) await usage.endQueries(spent.id, minute, 0, 10_000, signal);
    const message =
      /^the limit querySecondsPerMinute of 10 is reached: try again in \d+ s, or ask an operator to raise the limit$/;
    const [mackerel, ...prometheus] = await ask(spent.client);
    expect(mackerel).toMatchObject({
      status: 429,
      body: { error: { message: expect.stringMatching(message) } },
    });
    for (const each of prometheus)
      expect(each).toMatchObject({
        status: 429,
        body: { status: 'error', errorType: 'execution', error: expect.stringMatching(message) },
      });
    for (const { retryAfter } of [mackerel!, ...prometheus]) {
      expect(retryAfter).toBeGreaterThanOrEqual(1);
      expect(retryAfter).toBeLessThanOrEqual(60);
    }
    // The other functions still answer.
    expect((await spent.client.request('GET', '/api/v0/hosts')).status).toBe(200);

    const busy = await clientOf('busy', 'queriesAtOnce=1');
    for (const minute of minutes()) await usage.beginQuery(busy.id, minute, { atOnce: 1, usedMs: 1 }, signal);
    for (const each of await ask(busy.client)) expect([each.status, each.retryAfter]).toEqual([429, 1]);
    for (const minute of minutes()) await usage.endQueries(busy.id, minute, 1, 0, signal);
    await until(
      'admitted again',
      async () => (await busy.client.request('GET', '/api/v1/series')).status,
      (status) => status === 200,
    );
    reader = busy;
  });

  test('of posts of service metrics a minute', async () => {
    const { client, id } = await clientOf('poster', 'servicePostsPerMinute=3');
    await new Services(meta).create(id, 'shop');
    const send = () =>
      client.request('POST', '/api/v0/services/shop/tsdb', [{ name: 'a', time: now, value: 1 }]);
    const { accepted, response } = await untilRefused(send, 20);
    expect(accepted).toBeGreaterThanOrEqual(3);
    expect(response.status).toBe(429);
    expect(await said(response)).toEqual({ message: expect.stringContaining('servicePostsPerMinute of 3') });
  });

  test('of hosts', async () => {
    const { client } = await clientOf('small', 'hosts=2');
    await client.createHost('a');
    await client.createHost('b');
    const response = await client.request('POST', '/api/v0/hosts', { name: 'c' });
    // Waiting makes no room. So the answer has no Retry-After, and its message says what would help.
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, null]);
    expect(await said(response)).toEqual({
      message:
        'the limit hosts of 2 is reached: retire hosts that are gone, or ask an operator to raise the limit',
    });
    const { hosts } = await client.json<{ hosts: { id: string }[] }>('GET', '/api/v0/hosts');
    // Retire a host twice, which makes room only once.
    for (let i = 0; i < 2; i++) await client.json('POST', `/api/v0/hosts/${hosts[0]!.id}/retire`, 'null');
    await client.createHost('d');
    expect((await client.request('POST', '/api/v0/hosts', { name: 'e' })).status).toBe(429);
  });

  test('of hosts, with one write each: the hosts are read for the first, and at the limit once an hour', async () => {
    const { id } = await clientOf('counted');
    const spec = { name: 'a', displayName: null, customIdentifier: null, memo: '', meta: {}, interfaces: [] };
    for (let i = 0; i < 2; i++) await new Hosts(meta).create(id, spec, []);
    const calls: string[] = [];
    const client = new DynamoDBClient(localAws(Number(new URL(stack.awsEndpoint).port)));
    client.middlewareStack.add(
      (next, context) => async (args) => {
        calls.push(context.commandName!);
        return next(args);
      },
      { step: 'initialize' },
    );
    const asked = () => calls.splice(0).map((name) => name.replace(/(Item)?Command$/, ''));
    let clock = Date.now();
    const count = new HostCount({ client, name: meta.name }, () => clock);
    expect(await count.take(id, 20)).toBe(true);
    expect(asked()).toContain('Query');
    // Two hosts exist, and one more is counted. Of thirty concurrent additions, exactly seven are accepted.
    const taken = await Promise.all(Array.from({ length: 30 }, () => count.take(id, 10)));
    expect(taken.filter(Boolean)).toHaveLength(7);
    expect(asked()).not.toContain('Query');
    await count.give(id);
    expect([await count.take(id, 10), asked()]).toEqual([true, ['Update', 'Update']]);
    // None of the eight was created. After an hour, the hosts themselves are counted again.
    clock += 3_600_000;
    expect([await count.take(id, 10), asked().includes('Query')]).toEqual([true, true]);
    client.destroy();
  });

  test('of a body, before and after it is decompressed: 413', async () => {
    const { client } = await clientOf('slim', 'bodyBytes=2000');
    const send = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
      fetch(`${stack.url}/api/v0/tsdb`, {
        method: 'POST',
        headers: { ...client.headers, ...headers },
        body: typeof body === 'string' ? body : new Uint8Array(body),
      });
    const gzip = { 'content-encoding': 'gzip' };
    expect((await send(`[${' '.repeat(1900)}]`)).status).toBe(200);
    expect((await send(`[${' '.repeat(2100)}]`)).status).toBe(413);
    expect((await send(gzipSync(`[${' '.repeat(1900)}]`), gzip)).status).toBe(200);
    expect((await send(gzipSync(`[${' '.repeat(2100)}]`), gzip)).status).toBe(413);
  });

  test('of series: new ones are dropped, the known go on', async () => {
    const { client, id } = await clientOf('wide', 'series=30');
    const host = await client.createHost('web1');
    await client.post(points(host, many('a', 20)));
    // Names that overlap are counted once.
    await client.post(points(host, many('a', 35)));
    const usage = new UsageTable(meta);
    await until(
      'counted',
      () => usage.series(id),
      ({ added }) => added === 35,
    );
    // A new instance knows that the limit is reached. Running ones look again within 30 s.
    await stack.killFunctions();
    const post = (names: readonly string[]) => client.request('POST', '/api/v0/tsdb', points(host, names));
    // Each post has another name: a series that an instance has let in before it knows of the limit is let in for good.
    let attempts = 0;
    await until(
      'known',
      async () => (await post([`custom.new.${attempts++}`])).status,
      (status) => status === 429,
    );
    const mixed = await post([...many('a', 35), ...many('b', 5)]);
    expect([mixed.status, await mixed.json()]).toEqual([200, { success: true, dropped: { seriesLimit: 5 } }]);
    expect((await post(many('a', 35))).status).toBe(200);
    const refused = await post(many('b', 5));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '3600']);
    expect(await said(refused)).toEqual({ message: expect.stringContaining('series of 30') });
  });

  test('are asked of no store: two hundred warm posts make two hundred calls to the stream, and next to none else', async () => {
    const calls = new Map<string, number>();
    const proxy = createServer((request, response) => {
      const call = String(request.headers['x-amz-target']);
      calls.set(call, (calls.get(call) ?? 0) + 1);
      const { port } = new URL(stack.awsEndpoint);
      const onward = httpRequest(
        { host: '127.0.0.1', port, method: request.method, path: request.url, headers: request.headers },
        (answer) => {
          response.writeHead(answer.statusCode!, answer.headers);
          answer.pipe(response);
        },
      );
      request.pipe(onward);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    Object.assign(process.env, {
      AWS_ENDPOINT_URL: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      POWERTOOLS_METRICS_DISABLED: 'true',
      [ENV.settings]: JSON.stringify(parseSettings({})),
      [ENV.stream]: stack.stream,
      [ENV.metaTable]: meta.name,
    });
    const { handler } = await import('../../functions/post/handler');
    const { client } = await clientOf('steady');
    const host = await client.createHost('web1');
    const post = async () => {
      const answer = await handler({
        routeKey: 'POST /api/v0/tsdb',
        headers: client.headers,
        body: JSON.stringify(points(host, many('a', 10))),
        isBase64Encoded: false,
      } as never);
      expect(answer.statusCode).toBe(200);
    };
    await post();
    calls.clear();
    const startedMs = Date.now();
    for (let i = 0; i < 200; i++) await post();
    // Instances share their counts at most every 15 s.
    const exchanges = 3 * Math.ceil((Date.now() - startedMs) / 15_000);
    const { 'Kinesis_20131202.PutRecords': puts, ...others } = Object.fromEntries(calls);
    expect(puts).toBe(200);
    expect(Object.values(others).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(exchanges);
    proxy.closeAllConnections();
    proxy.close();
  });
});

describe('usage', () => {
  test("shows the tenant's use, its stored bytes, their cost, and which sources have the most series", async () => {
    await createTenant('used');
    const client = new Client(stack.url, (await createKey('used', 'read,write')).key);
    const hosts = [await client.createHost('large'), await client.createHost('small')];
    const names = ['custom.common', ...Array.from({ length: 9 }, (_, i) => `custom.own.${i}`)];
    const samples = (host: string, of: readonly string[], time: number) =>
      of.map((name) => ({ hostId: host, name, time, value: time / 7 }));
    await client.post([
      ...samples(hosts[0]!, names, now - 120),
      ...samples(hosts[1]!, names.slice(0, 1), now - 120),
    ]);
    const month = new Date().toISOString().slice(0, 7);
    const usage = () => ops<UsageReport>(stack.url, 'usage', '--tenant', 'used');
    /** The usage report is read until it has arrived. */
    const raw = () =>
      functions.invoke<Pick<UsageReport, 'series'> & { days: Record<string, UsageReport['counts']> }>(
        'operator',
        { command: 'usage', tenant: 'used', month },
      );
    await until('in the catalogue', raw, ({ series }) => series.active === 11);
    expect(await usage()).toMatchObject({
      month,
      series: {
        active: 11,
        stored: 11,
        topNames: expect.arrayContaining([{ name: 'custom.common', series: 2 }]),
        topSources: [
          { name: `large (host=${hosts[0]})`, series: 10 },
          { name: `small (host=${hosts[1]})`, series: 1 },
        ],
      },
    });
    // An instance adds its counts with a request half a minute later; a new instance adds them immediately.
    await stack.killFunctions();
    await until(
      'posted',
      async () => (await client.request('POST', '/api/v0/tsdb', samples(hosts[0]!, names, now - 60))).status,
      (status) => status === 200,
    );
    const isCounted = ({ days }: Awaited<ReturnType<typeof raw>>) =>
      Object.values(days).reduce((sum, { samples }) => sum + samples, 0) >= 21;
    await until('counted', raw, isCounted);
    const told = await usage();
    expect(told.counts).toMatchObject({ samples: 21, servicePosts: 0 });
    expect(told.counts.requests).toBeGreaterThanOrEqual(3);
    expect(told.counts.streamBytes).toBeGreaterThan(0);
    expect(told.counts.functionMbMs).toBeGreaterThan(0);
    // Otherwise the second post could come into memory after the drain.
    await until(
      'both posts in memory',
      () => client.metrics(hosts[0]!, 'custom.common', now - 120, now).catch(() => ''),
      (text) => text.includes(`"time":${now - 120},`) && text.includes(`"time":${now - 60},`),
    );
    expect((await usage()).bytes.hot).toBeGreaterThan(0);
    await ops(stack.url, 'drain');
    await ops(stack.url, 'archive');
    const stored = await usage();
    expect(stored.bytes).toMatchObject({ hot: 0, warm: stored.counts.warmBytesWritten });
    expect(stored.bytes.warm).toBeGreaterThan(0);
    expect(stored.bytes.cold).toBeGreaterThan(0);
    expect(stored.counts.warmItemsWritten).toBeGreaterThanOrEqual(2);
    expect(stored.dollars).toBeCloseTo(
      stored.cost.reduce((sum, { dollars }) => sum + dollars, 0),
      12,
    );
    expect(stored.dollarsPerBillion).toBeCloseTo((stored.dollars / 21) * 1e9, 3);
    const before = await ops<UsageReport>(stack.url, 'usage', '--tenant', 'used', '--month', '2020-01');
    expect([before.counts.samples, before.dollars]).toEqual([0, 0]);
  });
});

describe('the retention of a tenant', () => {
  test("is the stage's until it is set, and lies between warmTtl and the stage's", async () => {
    await createTenant('brief');
    const set = (retention: string) =>
      ops<TenantDescription>(stack.url, 'tenants', 'set', 'brief', '--retention', retention);
    const { warmTtl, retention: stageMs } = parseSettings({});
    const ofStage = { retentionMs: stageMs, hasOwnRetention: false };
    expect(await set('default')).toMatchObject(ofStage);
    expect(await set(`${warmTtl}ms`)).toMatchObject({ retentionMs: warmTtl, hasOwnRetention: true });
    for (const refused of [warmTtl - 1, stageMs + 1])
      await expect(set(`${refused}ms`)).rejects.toThrow('is not between');
    await expect(set('90')).rejects.toThrow('90 has no unit');
    expect(await set('default')).toMatchObject(ofStage);
  });
});

describe('the partitions of a tenant', () => {
  const epochsOf = (tenant: TenantDescription) =>
    tenant.epochs.map(({ fromDay, partitions }) => [fromDay, partitions]);

  test('change from a day on that no writer can have samples of', async () => {
    await createTenant('growing');
    const set = (...args: string[]) =>
      ops<TenantDescription>(stack.url, 'tenants', 'set', 'growing', ...args);
    const day = firstFreeDay(Date.now());
    const grown = await set('--partitions', '64', '--limit', 'series=5');
    expect(grown).toMatchObject({ partitions: 2, limits: { series: 5 } });
    expect(epochsOf(grown)).toEqual([
      ['1970-01-01', 2],
      [day, 64],
    ]);
    await expect(set('--partitions', '4', '--from', new Date().toISOString().slice(0, 10))).rejects.toThrow(
      'is too early',
    );
    await expect(set('--from', day)).rejects.toThrow('give --limit, --partitions or --retention');
    await expect(set()).rejects.toThrow('--partitions');
    expect(epochsOf(await set('--partitions', '2'))).toEqual([['1970-01-01', 2]]);
    const { tenants, size } = await ops<TenantAdvice & { size: string }>(stack.url, 'tenants', 'advise');
    expect(tenants.find(({ name }) => name === 'growing')).toEqual({
      name: 'growing',
      partitions: 2,
      advised: 2,
      because: 'nothing was posted',
    });
    expect(size).toBe('small');
  });

  test('are all known to drain, where, status, usage and erasure', async () => {
    const { id } = await createTenant('grown');
    // The nearest midnight, so that post takes samples of both sides. The epoch was published long before.
    const border = Math.round(Date.now() / 86_400_000) * 86_400_000;
    const tenants = new Tenants(meta);
    const tenant = (await tenants.read('grown'))!;
    await tenants.setPlacement(
      tenant,
      planEpoch(tenant.placement, 16, border - 3 * 86_400_000, dayOf(border)),
    );

    const client = new Client(stack.url, (await createKey('grown', 'read,write')).key);
    const hosts = await Promise.all(['a', 'b', 'c', 'd'].map((name) => client.createHost(name)));
    const times = [border / 1000 - 60, border / 1000];
    await client.post(
      hosts.flatMap((hostId, h) =>
        times.map((time, t) => ({ hostId, name: 'custom.a', time, value: 10 * h + t })),
      ),
    );
    const windows = async () =>
      (await functions.invoke<TenantStatus>('operator', { command: 'status', tenant: 'grown' })).flush
        .windows;
    await until('in memory', windows, (count) => count === 8);

    const moved = hosts.find((host) => {
      const sourceId = sourceIdOf(id, sourceOf.host(host));
      return partitionOf(sourceId, 2) !== partitionOf(sourceId, 16);
    })!;
    const places = async () => {
      const args = ['--tenant', 'grown', '--host', moved, '--name', 'custom.a'];
      const range = ['--from', String(times[0]), '--to', String(times[1]! + 1)];
      const tiers = await ops<Record<Tier, TierPlaces>>(stack.url, 'where', ...args, ...range);
      return Object.entries(tiers).map(([tier, { samples, places }]) => [tier, samples, places.length]);
    };
    const usage = () => ops<UsageReport>(stack.url, 'usage', '--tenant', 'grown');
    const at = (tier: string) =>
      ['hot', 'warm', 'cold'].map((each) => (each === tier ? [each, 2, 2] : [each, 0, 0]));
    const expected = JSON.stringify(await client.metrics(moved, 'custom.a', times[0]!, times[1]!));
    expect(await places()).toEqual(at('hot'));
    await ops(stack.url, 'drain', '--tenant', 'grown', '--host', moved);
    expect(await places()).toEqual(at('warm'));
    await ops(stack.url, 'drain');
    expect(await usage()).toMatchObject({ bytes: { hot: 0, cold: 0 } });
    await ops(stack.url, 'archive', '--purge', '--before', new Date(border + 86_400_000).toISOString());
    expect(await places()).toEqual(at('cold'));
    expect(await usage()).toMatchObject({ bytes: { hot: 0, warm: 0 } });
    expect(JSON.stringify(await client.metrics(moved, 'custom.a', times[0]!, times[1]!))).toBe(expected);

    await ops(stack.url, 'tenants', 'delete', 'grown', '--yes');
    expect(await traces(id)).toEqual([`${meta.name} tenants`]);
    // Leave nothing for a later test's sweep.
    await functions.invoke('operator', { command: 'sweep', settledMs: 0 });
  });
});

describe('deleting a tenant', () => {
  test('erases it from every tier, whatever is still in the stream or comes again, and touches no other', async () => {
    const { id } = await createTenant('doomed');
    const { id: keptId } = await createTenant('kept');
    const clients = await Promise.all(
      ['doomed', 'kept'].map(
        async (name) => new Client(stack.url, (await createKey(name, 'read,write')).key),
      ),
    );
    const hosts = await Promise.all(clients.map((client) => client.createHost('web1')));
    // Post the doomed tenant's samples first, so that the stream has none of them after the other tenant's
    // last.
    const post = async (minute: number) => {
      for (const [i, client] of clients.entries())
        await client.post([{ hostId: hosts[i]!, name: 'custom.a', time: now - minute * 60, value: minute }]);
    };
    const read = () => clients[1]!.metrics(hosts[1]!, 'custom.a', now - 600, now);
    const count = (id: string, tier: string) => async () =>
      (await traces(id)).filter((trace) => trace.startsWith(tier)).length;

    // Put one sample of each tenant into each tier.
    const inMemory = (): Promise<number[]> => Promise.all([count(id, 'hot')(), count(keptId, 'hot')()]);
    const isIn = (counts: number[]) => counts.every((n) => n > 0);
    await post(3);
    await until('in memory', inMemory, isIn);
    await ops(stack.url, 'drain');
    await ops(stack.url, 'archive');
    await post(2);
    await until(
      'in memory again',
      () => stores.hot(),
      ({ frames }) => frames === 2,
    );
    await ops(stack.url, 'drain');
    await post(1);
    await until(
      'in memory once more',
      () => stores.hot(),
      ({ frames }) => frames === 2,
    );
    expect(new Set((await traces(id)).map((trace) => trace.split(' ')[0]))).toEqual(
      new Set(['hot', physicalName('WarmTable'), meta.name, 'cold']),
    );
    const before = await read();

    await expect(ops(stack.url, 'tenants', 'delete', 'doomed')).rejects.toThrow('--yes');
    const erased = await ops<Record<string, number>>(stack.url, 'tenants', 'delete', 'doomed', '--yes');
    for (const tier of ['hot', 'warm', 'cold', 'meta']) expect(erased[tier]).toBeGreaterThan(0);
    const left = [`${meta.name} tenants`];
    expect(await traces(id)).toEqual(left);

    // Replay all that the stream has, to instances that have nothing in their caches.
    await stack.killFunctions();
    expect(await ops(stack.url, 'replay')).toMatchObject({ replay: { state: 'done' } });
    expect((await stores.hot()).frames).toBeGreaterThan(1);
    expect(await traces(id)).toEqual(left);
    expect(await new RecoveryTable(meta).loss()).toBeUndefined();
    // The key is refused, and nobody may take the name again.
    expect((await clients[0]!.request('GET', '/api/v0/hosts')).status).toBe(401);
    await expect(createTenant('doomed')).rejects.toThrow('was deleted');

    // A writer that did not know of the deletion writes nevertheless. The sweep removes that. It no longer looks at the
    // tenant once no such write can come.
    const sweep = (settledMs?: number) => functions.invoke('operator', { command: 'sweep', settledMs });
    await stores.redis.set(new HotKeys({ tenantId: id, partition: 0 }).due, 'late');
    expect(await sweep()).toEqual({ erased: 0, remaining: 1 });
    expect(await traces(id)).toEqual(left);
    expect(await sweep(0)).toEqual({ erased: 1, remaining: 0 });
    expect(await sweep(0)).toEqual({ erased: 0, remaining: 0 });
    // When it is run again, the command has nothing to do.
    expect(await ops(stack.url, 'tenants', 'delete', 'doomed', '--yes')).toEqual({
      hot: 0,
      warm: 0,
      cold: 0,
      meta: 0,
    });
    await expect(ops(stack.url, 'tenants', 'delete', 'never', '--yes')).rejects.toThrow('no tenant "never"');
    expect(await read()).toBe(before);
  });
});

test('erasing goes on after it was cut short at any step', async () => {
  await createTenant('sliced');
  const client = new Client(stack.url, (await createKey('sliced', 'read,write')).key);
  const host = await client.createHost('web1');
  const post = (minute: number) =>
    client.post([{ hostId: host, name: 'custom.a', time: now - minute * 60, value: minute }]);
  const id = tenantIdOf('sliced');
  const isHot = async () => (await traces(id)).some((trace) => trace.includes(':f:'));
  await post(2);
  await until('in memory', isHot, Boolean);
  await ops(stack.url, 'drain');
  await ops(stack.url, 'archive');
  await post(1);
  await until('in memory again', isHot, Boolean);

  const deleted = (await new Tenants(meta).markDeleted('sliced'))!;
  const dependencies = {
    read: {
      hot: new HotTier(stores.redis, 0),
      warm: new WarmTier({ client: meta.client, name: physicalName('WarmTable') }, 0),
      manifest: new Manifest(meta),
      cold: new ColdTier(stores.s3, stack.bucket),
    },
    meta,
    recovery: new RecoveryTable(meta),
  };
  // Each attempt goes one step further. What earlier attempts removed stays removed.
  const left: number[] = [];
  for (let steps = 0, isDone = false; !isDone; steps++) {
    let taken = 0;
    ({ isDone } = await eraseTenant(dependencies, deleted, () => taken++ < steps));
    left.push((await traces(id)).length);
  }
  expect(left.length).toBeGreaterThan(4);
  expect(left).toEqual([...left].sort((a, b) => b - a));
  expect(await traces(id)).toEqual([`${meta.name} tenants`]);
});

describe('tenants of names that are made to collide', () => {
  const names = [
    'a',
    'A',
    'á',
    'a\u0301',
    'a#b',
    'a#',
    '{a}',
    'a:0000',
    'a/../b',
    '*',
    '__proto__',
    '\0',
    '%61',
  ];

  /** Creates a tenant as earlier releases did, which let tenants have any name. */
  const createAsBefore = async (name: string) => {
    const id = tenantIdOf(name);
    const epochs = JSON.stringify([{ fromDay: '1970-01-01', partitions: 2 }]);
    const Item = { ...metaKeys.tenant(id), name: { S: name }, epochs: { S: epochs } };
    await meta.client.send(new PutItemCommand({ TableName: meta.name, Item }));
    return id;
  };

  test('each read what they wrote, under the same names, and nothing of the others, in every tier', async () => {
    const [keys, services] = [new ApiKeys(meta), new Services(meta)];
    const all = await Promise.all(
      names.map(async (name, i) => {
        const id = await createAsBefore(`collide ${name}`);
        await services.create(id, 'shop');
        const { key } = await keys.create({ tenant: `collide ${name}`, rights: ['read', 'write'] });
        const client = new Client(stack.url, key);
        return { client, value: i + 0.5, host: await client.createHost('web1') };
      }),
    );
    await Promise.all(
      all.map(async ({ client, value, host }) => {
        await client.post([{ hostId: host, name: 'custom.a', time: now, value }]);
        await client.json('POST', '/api/v0/services/shop/tsdb', [{ name: 'orders', time: now, value }]);
      }),
    );
    const read = async (client: Client, path: string) => (await client.request('GET', path)).text();
    const shop = `/api/v0/services/shop/metrics?name=orders&from=${now}&to=${now}`;
    const ofHost = (host: string) => `/api/v0/hosts/${host}/metrics?name=custom.a&from=${now}&to=${now}`;
    const answers = () =>
      Promise.all(all.flatMap(({ client, host }) => [read(client, shop), read(client, ofHost(host))]));
    const expected = JSON.stringify(
      all.flatMap(({ value }) => {
        const answer = JSON.stringify({ metrics: [{ time: now, value }] });
        return [answer, answer];
      }),
    );
    await until('in memory', answers, (texts) => JSON.stringify(texts) === expected);
    await ops(stack.url, 'drain');
    expect(JSON.stringify(await answers())).toBe(expected);
    await ops(stack.url, 'archive', '--purge');
    expect(JSON.stringify(await answers())).toBe(expected);
    for (const { client } of all)
      for (const { client: other, host } of all)
        if (other !== client) expect((await client.request('GET', ofHost(host))).status).toBe(404);
  });

  test.each(['default ', 'a\nb', '../x'])('%j cannot be created any more', async (name) => {
    await expect(createTenant(name)).rejects.toThrow("cannot be a tenant's name");
    await expect(new Tenants(meta).create(name, 1)).rejects.toThrow("cannot be a tenant's name");
  });
});

describe("a function's role", () => {
  const tenant = tenantIdOf('default');
  const update = (Key: ItemKey) =>
    new UpdateItemCommand({
      TableName: meta.name,
      Key,
      UpdateExpression: 'ADD tried :one',
      ExpressionAttributeValues: { ':one': { N: '1' } },
    });
  const insert = ({ pk, sk }: ItemKey) =>
    new BatchExecuteStatementCommand({
      Statements: [
        { Statement: `INSERT INTO "${meta.name}" VALUE {'pk': ?, 'sk': ?}`, Parameters: [pk, sk] },
      ],
    });
  const manifest = metaKeys.manifest({ tenantId: tenant, partition: 0 }, '2020-01-01');
  const pool = metaKeys.pool(tenant, sourceIdOf(tenant, [['host', 'rights']]));

  test.each<{ name: FunctionName; does: string; call: () => UpdateItemCommand; isAllowed: boolean }>([
    {
      name: 'post',
      does: 'count use',
      call: () => update(metaKeys.usage(tenant, '2020-01-01')),
      isAllowed: true,
    },
    { name: 'post', does: 'keep a pool', call: () => update(pool), isAllowed: true },
    { name: 'post', does: 'change a key', call: () => update(metaKeys.apiKey('rights')), isAllowed: false },
    { name: 'post', does: 'change a tenant', call: () => update(metaKeys.tenant(tenant)), isAllowed: false },
    { name: 'post', does: 'change the manifest', call: () => update(manifest), isAllowed: false },
    {
      name: 'query',
      does: 'count use',
      call: () => update(metaKeys.usage(tenant, '2020-01-01')),
      isAllowed: true,
    },
    { name: 'query', does: 'change a key', call: () => update(metaKeys.apiKey('rights')), isAllowed: false },
    { name: 'query', does: 'change the manifest', call: () => update(manifest), isAllowed: false },
    { name: 'ingester', does: 'open a day', call: () => update(manifest), isAllowed: true },
    {
      name: 'ingester',
      does: 'change a key',
      call: () => update(metaKeys.apiKey('rights')),
      isAllowed: false,
    },
    { name: 'archiver', does: 'change a layout', call: () => update(pool), isAllowed: false },
    {
      name: 'importer',
      does: 'change a tenant',
      call: () => update(metaKeys.tenant(tenant)),
      isAllowed: false,
    },
  ])('of $name, lets it $does: $isAllowed', async ({ name, call, isAllowed }) => {
    if (!isAllowed) expectRefusals('rights', /^dynamodb:UpdateItem$/);
    // Credentials of a role have a token; here it names the role's function.
    const credentials = { ...localAws(0).credentials, sessionToken: functionName('local', name) };
    const client = new DynamoDBClient({ ...localAws(Number(new URL(stack.awsEndpoint).port)), credentials });
    const done = client.send(call()).then(
      () => true,
      ({ name: error }: Error) => error !== 'AccessDeniedException' && error,
    );
    expect(await done).toBe(isAllowed);
    client.destroy();
  });

  test('also bounds the items that a batch of statements inserts', async () => {
    expectRefusals('rights', /^dynamodb:BatchExecuteStatement$/);
    const credentials = { ...localAws(0).credentials, sessionToken: functionName('local', 'post') };
    const client = new DynamoDBClient({ ...localAws(Number(new URL(stack.awsEndpoint).port)), credentials });
    await client.send(insert(metaKeys.pool(tenant, sourceIdOf(tenant, [['host', 'inserted']]))));
    const denied = client.send(insert(metaKeys.apiKey('inserted')));
    await expect(denied).rejects.toMatchObject({ name: 'AccessDeniedException' });
    client.destroy();
  });
});

/** The secret part of a key. This part and the public id before it may contain underscores. */
const secretOf = (key: string) => key.slice(-43);

describe('secrets', () => {
  test('are in no log line, template or environment, whatever went wrong', async () => {
    const client = new Client(stack.url, stack.apiKey);
    const body = 'custom.verysecretname';
    const key = `ht_${'S'.repeat(12)}_${'Secret'.repeat(8).slice(0, 43)}`;
    const { key: readKey } = await createKey('default', 'read');
    const post = (text: string, headers: Record<string, string>) =>
      fetch(`${stack.url}/api/v0/tsdb?`, { method: 'POST', body: text, headers });
    const statuses = [
      await post(`[{"name":"${body}"`, client.headers),
      await post(`{"name":"${body}"}`, client.headers),
      await post(`[{"name":"${body}","hostId":"${body}","time":${now},"value":1}]`, client.headers),
      await post(body, { ...client.headers, 'content-encoding': 'gzip' }),
      await post(`[{"name":"${body}"}]`, { 'x-api-key': key }),
      await post(`[{"name":"${body}"}]`, { 'x-api-key': readKey }),
      await client.request('POST', '/api/v0/hosts', { name: 7, memo: body }),
      await client.request('DELETE', '/api/v0/tsdb', { name: body }),
      await fetch(`${stack.url}/nothing`, { headers: { 'x-api-key': key } }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([400, 400, 200, 400, 401, 403, 400, 405, 404]);

    // A store that does not answer: 5xx, with an error in the log.
    const host = await client.createHost('web1');
    await client.post([{ hostId: host, name: body, time: now, value: 1 }]);
    const path = `/api/v0/hosts/${host}/metrics?name=${body}&from=${now}&to=${now}`;
    const answerOf = async () => (await client.request('GET', path)).status;
    await until('stored', answerOf, (status) => status === 200);
    const pids = JSON.parse(readFileSync(join(stack.dataDir, 'pids.json'), 'utf8')) as {
      stack: number;
      hot: number;
      aws: number;
      functions: number[];
    };
    process.kill(pids.hot, 'SIGSTOP');
    try {
      await until('refused', answerOf, (status) => status >= 500);
    } finally {
      process.kill(pids.hot, 'SIGCONT');
    }

    const secrets = [stack.apiKey, readKey, key].flatMap((text) => [text, secretOf(text)]).concat(body);
    const texts = new Map<string, string>();
    for (const file of readdirSync(stack.dataDir).filter((name) => name.endsWith('.log')))
      texts.set(file, readFileSync(join(stack.dataDir, file), 'utf8'));
    const synthesized = join(__dirname, '..', '..', '.local', 'synth');
    // Another test file's stack may be synthesizing into a folder whose name ends in a dot and a process id.
    // It renames the folder when it is complete.
    const whole = readdirSync(synthesized).filter((name) => !/^[0-9a-f]{16}\.\d+$/.test(name));
    for (const name of whole)
      for (const entry of readdirSync(join(synthesized, name), { recursive: true, withFileTypes: true })) {
        const file = join(entry.parentPath, entry.name);
        if (entry.isFile() && file.endsWith('.json')) texts.set(file, readFileSync(file, 'utf8'));
      }
    for (const pid of [pids.stack, pids.hot, pids.aws, ...pids.functions])
      for (const listing of ['environ', 'cmdline'])
        texts.set(`${pid} ${listing}`, readFileSync(`/proc/${pid}/${listing}`, 'utf8'));
    expect(texts.get('functions.log')).toContain('request failed');
    expect([...texts.keys()].some((name) => name.endsWith('.template.json'))).toBe(true);
    for (const [where, text] of texts)
      for (const secret of secrets)
        if (text.includes(secret)) throw new Error(`${where} has ${secret.slice(0, 6)}...`);
  });
});

test('queries are counted by day and tenant', async () => {
  const usage = new UsageTable(meta);
  await until(
    'counted',
    // An instance adds its counts with a request, every 30 s. Most of that time has passed in other tests.
    async () => {
      await reader.client.json('GET', '/api/v1/series');
      return usage.days(reader.id, new Date().toISOString().slice(0, 7));
    },
    (days) => [...days.values()].some(({ queries }) => queries >= 1),
  );
});
