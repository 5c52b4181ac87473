import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { localAws } from '../../scripts/local/provision';
import { physicalName } from '../../scripts/local/template';
import { ApiKeys, type KeyDescription } from '../../shared/meta/api-keys';
import type { Table } from '../../shared/meta/table';
import { tenantIdOf } from '../../shared/placement';
import { Client } from '../support/client';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';

let stack: LocalStack;
let meta: Table;
const now = Math.floor(Date.now() / 60_000) * 60;

beforeAll(async () => {
  stack = await startLocalStack({ settings: { partitions: '2' } });
  meta = {
    client: new DynamoDBClient(localAws(Number(new URL(stack.awsEndpoint).port))),
    name: physicalName('MetaTable'),
  };
}, 180_000);

afterAll(async () => {
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
