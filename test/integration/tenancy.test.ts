import { DynamoDBClient, paginateScan } from '@aws-sdk/client-dynamodb';
import { paginateListObjectsV2 } from '@aws-sdk/client-s3';
import { localAws } from '../../scripts/local/provision';
import { physicalName } from '../../scripts/local/template';
import { Functions } from '../../scripts/ops/invoke';
import { ApiKeys, type KeyDescription } from '../../shared/meta/api-keys';
import type { Table } from '../../shared/meta/table';
import { tenantIdOf } from '../../shared/placement';
import { RecoveryTable } from '../../shared/recovery/recovery-table';
import { Client } from '../support/client';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { Stores } from '../support/stores';
import { until } from '../support/until';

let stack: LocalStack;
let meta: Table;
let stores: Stores;
const now = Math.floor(Date.now() / 60_000) * 60;

beforeAll(async () => {
  stack = await startLocalStack({ settings: { partitions: '2' } });
  meta = {
    client: new DynamoDBClient(localAws(Number(new URL(stack.awsEndpoint).port))),
    name: physicalName('MetaTable'),
  };
  stores = new Stores(stack);
}, 180_000);

afterAll(async () => {
  await stores?.close();
  meta?.client.destroy();
  await stack?.stop();
}, 60_000);

interface CreatedKey {
  readonly key: string;
  readonly publicId: string;
}

const createTenant = (name: string) => ops<{ id: string }>(stack.url, 'tenants', 'create', name);
const createKey = (tenant: string, rights: string, ...more: string[]) =>
  ops<CreatedKey>(stack.url, 'keys', 'create', '--tenant', tenant, '--rights', rights, ...more);

describe('keys', () => {
  let acme: Record<'both' | 'read' | 'write' | 'revoked' | 'expired', string>;
  let host: string;
  let others: Client;

  beforeAll(async () => {
    await createTenant('acme');
    await createTenant('umbrella');
    const [both, read, write, gone] = await Promise.all([
      createKey('acme', 'read,write', '--expires', '30d'),
      createKey('acme', 'read'),
      createKey('acme', 'write'),
      createKey('acme', 'write,read'),
    ]);
    await ops(stack.url, 'keys', 'revoke', gone.publicId);
    // Its time is not to be waited for: it was made long ago.
    const old = await new ApiKeys(meta, () => 1000).create({ tenant: 'acme', rights: ['read'] }, 5000);
    acme = { both: both.key, read: read.key, write: write.key, revoked: gone.key, expired: old.key };
    host = await new Client(stack.url, both.key).createHost('web1');
    others = new Client(stack.url, (await createKey('umbrella', 'read,write')).key);
  }, 120_000);

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

  test("another tenant's key, good as it is, finds nothing of this one", async () => {
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
    await expect(createKey('umbrella', 'write,read')).rejects.toThrow('has 2 keys');
    const listed = await ops<KeyDescription[]>(stack.url, 'keys', 'list', '--tenant', 'umbrella');
    expect(listed).toHaveLength(2);
    for (const key of listed)
      expect(Object.keys(key).sort()).toEqual(['createdAt', 'publicId', 'rights', 'tenant']);
    await ops(stack.url, 'keys', 'revoke', listed[1]!.publicId);
    await createKey('umbrella', 'read,write');
    // An expired key makes room by itself.
    const slots = await ops<KeyDescription[]>(stack.url, 'keys', 'list', '--tenant', 'acme');
    expect(slots.filter(({ rights }) => rights.join() === 'read')).toHaveLength(2);
    await createKey('acme', 'read');
  }, 60_000);

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
  }, 60_000);
});

/** Every key, item and object there is, by the tenant's id and its hosts' names. */
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
    // The doomed one's first, so that the stream has nothing of it after the other's last.
    const post = async (minute: number) => {
      for (const [i, client] of clients.entries())
        await client.post([{ hostId: hosts[i]!, name: 'custom.a', time: now - minute * 60, value: minute }]);
    };
    const read = () => clients[1]!.metrics(hosts[1]!, 'custom.a', now - 600, now);
    const count = (id: string, tier: string) => async () =>
      (await traces(id)).filter((trace) => trace.startsWith(tier)).length;

    // One sample in each tier.
    const inMemory = (): Promise<number[]> => Promise.all([count(id, 'hot')(), count(keptId, 'hot')()]);
    const isIn = (counts: number[]) => counts.every((n) => n > 0);
    await post(3);
    await until('in memory', inMemory, isIn, 30_000);
    await ops(stack.url, 'drain');
    await ops(stack.url, 'archive');
    await post(2);
    await until(
      'in memory again',
      () => stores.hot(),
      ({ frames }) => frames === 2,
      30_000,
    );
    await ops(stack.url, 'drain');
    await post(1);
    await until(
      'in memory once more',
      () => stores.hot(),
      ({ frames }) => frames === 2,
      30_000,
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

    // All that the stream has, again, to instances that remember nothing.
    stack.killFunctions();
    expect(await ops(stack.url, 'replay')).toMatchObject({ replay: { state: 'done' } });
    expect((await stores.hot()).frames).toBeGreaterThan(1);
    expect(await traces(id)).toEqual(left);
    expect(await new RecoveryTable(meta).loss()).toBeUndefined();
    // The key is dead, and nobody may have the name.
    expect((await clients[0]!.request('GET', '/api/v0/hosts')).status).toBe(401);
    await expect(createTenant('doomed')).rejects.toThrow('was deleted');

    // A writer that did not know yet wrote after all: the sweep removes it, and is done with it when none can come.
    const functions = new Functions(stack.url);
    const sweep = (settledMs?: number) => functions.invoke('operator', { command: 'sweep', settledMs });
    await stores.redis.set(`{${id}:0000}:due`, 'late');
    expect(await sweep()).toEqual({ erased: 0, remaining: 1 });
    expect(await traces(id)).toEqual(left);
    expect(await sweep(0)).toEqual({ erased: 1, remaining: 0 });
    expect(await sweep(0)).toEqual({ erased: 0, remaining: 0 });
    functions.close();
    // Run again, the command has nothing to do.
    expect(await ops(stack.url, 'tenants', 'delete', 'doomed', '--yes')).toEqual({
      hot: 0,
      warm: 0,
      cold: 0,
      meta: 0,
    });
    await expect(ops(stack.url, 'tenants', 'delete', 'never', '--yes')).rejects.toThrow('no tenant never');
    expect(await read()).toBe(before);
  }, 240_000);
});
