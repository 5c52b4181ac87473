import { DeletedTenants } from '../../../shared/tenancy/deleted-tenants';
import type { DeletedTenant, Tenants } from '../../../shared/tenancy/tenants';

afterEach(() => jest.restoreAllMocks());

test('a deleted tenant is known after 30 s, also on an instance whose clock was set back meanwhile', async () => {
  let nowMs = 3_600_000;
  jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
  const deleted: Pick<DeletedTenant, 'name'>[] = [];
  const tenants = { listDeleted: async () => [...deleted] } as unknown as Tenants;
  const known = new DeletedTenants(tenants);
  expect([...(await known.names())]).toEqual([]);
  deleted.push({ name: 'acme' });
  nowMs += 29_999;
  expect([...(await known.names())]).toEqual([]);
  nowMs -= 600_000;
  expect([...(await known.names())]).toEqual(['acme']);
});
