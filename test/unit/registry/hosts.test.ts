import { idOf } from '../../../shared/model/id';
import { type HostSpec, Hosts } from '../../../shared/registry/hosts';
import { MemoryTable } from '../../support/memory-table';

const TENANT = idOf('tenant', 'acme');
const spec: HostSpec = {
  name: 'web1',
  displayName: null,
  customIdentifier: null,
  memo: '',
  meta: {},
  interfaces: [],
};

test('of two requests that retire a host at the same time, one has retired it', async () => {
  const table = new MemoryTable();
  const hosts = new Hosts(table);
  const { id } = await hosts.create(TENANT, spec, []);
  let other: string | undefined;
  // The other request runs just before the first one removes the host from the active hosts. So both find it there.
  table.before('DeleteItem', 'hosts', async () => {
    other = await hosts.retire(TENANT, id);
  });
  const outcomes = [await hosts.retire(TENANT, id), other];
  expect(outcomes.sort()).toEqual(['before', 'now']);
  expect(await hosts.retire(TENANT, id)).toBe('before');
});
