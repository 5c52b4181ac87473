import { type HostFilter, listHosts } from '../../../shared/registry/host-list';
import type { Host } from '../../../shared/registry/hosts';
import type { Service } from '../../../shared/registry/services';

const host = (id: string, name: string, more: Partial<Host> = {}): Host => ({
  id,
  name,
  displayName: null,
  customIdentifier: null,
  memo: '',
  meta: {},
  interfaces: [],
  status: 'working',
  roleIds: [],
  createdAt: 0,
  retiredAt: null,
  ...more,
});
const service = (name: string, ...roles: string[]): Service => ({
  id: name,
  name,
  memo: '',
  roles: roles.map((role) => ({ id: `${name}:${role}`, name: role, memo: '' })),
});

const services = [service('shop', 'app', 'web'), service('constructor', 'web')];
const hosts = [
  host('a', 'zebra', { roleIds: ['shop:web'] }),
  host('b', 'apple', { roleIds: ['shop:app', 'deleted'] }),
  host('c', 'mango', { status: 'standby' }),
  host('d', 'lemon', { status: 'poweroff', roleIds: ['constructor:web'] }),
];
const list = async (filter: HostFilter, limit?: number) => {
  const { json, nextId } = await listHosts(hosts, services, filter, limit, 10_000);
  return { ids: json.map((text) => (JSON.parse(text) as Host).id), nextId };
};

describe('a list of hosts', () => {
  test.each<{ name: string; filter: HostFilter; ids: string[] }>([
    { name: 'by default: working and standby, sorted by name', filter: {}, ids: ['b', 'c', 'a'] },
    { name: 'by status', filter: { status: ['poweroff', 'maintenance'] }, ids: ['d'] },
    { name: 'by name', filter: { name: 'zebra' }, ids: ['a'] },
    { name: 'by service', filter: { service: 'shop' }, ids: ['b', 'a'] },
    { name: 'by any of several roles', filter: { service: 'shop', role: ['app', 'none'] }, ids: ['b'] },
    { name: 'by roles without a service: ignored', filter: { role: ['app'] }, ids: ['b', 'c', 'a'] },
    { name: 'by a service without hosts', filter: { service: 'toString' }, ids: [] },
    {
      name: 'by a service that is called like a property',
      filter: { service: 'constructor', status: ['poweroff'] },
      ids: ['d'],
    },
  ])('$name', async ({ filter, ids }) => {
    expect(await list(filter)).toEqual({ ids, nextId: undefined });
  });

  test('of many hosts, the first as large as agents send them, comes in pages that fit an answer', async () => {
    // The page in the browser requests this many hosts (functions/page/browser/api/api.ts). An answer may have 4 MB
    // uncompressed.
    const [PAGE, MAX_PLAIN] = [300, 4_000_000];
    const large = { meta: { filesystem: Array.from({ length: 100 }, () => 'x'.repeat(97)) } };
    const many = Array.from({ length: 2_000 }, (_, i) =>
      host(String(i).padStart(5, '0'), `h${i}`, i < 900 ? large : {}),
    );
    let listed = 0;
    let next: string | undefined;
    do {
      const after = many.findIndex(({ id }) => id === next) + 1;
      const page = await listHosts(many.slice(after, after + PAGE + 1), services, {}, PAGE, MAX_PLAIN);
      listed += page.json.length;
      next = page.nextId;
    } while (next !== undefined);
    expect(listed).toBe(2_000);
  });

  test('in pages is sorted by id, and says where the next one begins', async () => {
    expect(await list({}, 2)).toEqual({ ids: ['a', 'b'], nextId: 'b' });
    expect(await list({}, 3)).toEqual({ ids: ['a', 'b', 'c'], nextId: undefined });
  });

  test('has the roles of its hosts by service, without deleted ones', async () => {
    const { json } = await listHosts(hosts, services, { name: 'apple' }, undefined, 10_000);
    expect(JSON.parse(json[0]!)).toMatchObject({ roles: { shop: ['app'] }, isRetired: false });
  });

  test('that would be too long is refused', async () => {
    await expect(listHosts(hosts, services, {}, undefined, 300)).rejects.toThrow(
      'read them in pages with limit=',
    );
  });
});
