import { idOf } from '../../../shared/model/id';
import { type MetadataOwner, MetadataStore } from '../../../shared/registry/metadata';
import { MemoryTable } from '../../support/memory-table';

const TENANT = idOf('tenant', 'acme');
const owner: MetadataOwner = { id: 'web1', kind: 'host' };

describe('metadata that one client puts while another removes it', () => {
  const writes = {
    'the put comes first': async (table: MemoryTable, store: MetadataStore) => {
      table.before('PutItem', 'metadata', () => store.put(TENANT, owner, 'rack', '2'));
      await store.remove(TENANT, owner, 'rack');
    },
    'the removal comes first': async (table: MemoryTable, store: MetadataStore) => {
      table.before('PutItem', 'metadata', () => store.remove(TENANT, owner, 'rack'));
      await store.put(TENANT, owner, 'rack', '2');
    },
  };

  test.each(Object.entries(writes))('is listed if it is there: %s', async (_, write) => {
    const table = new MemoryTable();
    const store = new MetadataStore(table);
    await store.put(TENANT, owner, 'rack', '1');
    await write(table, store);
    expect(await store.get(TENANT, owner, 'rack')).toMatchObject({ json: '2' });
    expect(await store.list(TENANT, owner)).toEqual(['rack']);
    await store.remove(TENANT, owner, 'rack');
    expect(await store.list(TENANT, owner)).toEqual([]);
  });
});
