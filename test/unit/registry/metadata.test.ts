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

  test('is not listed if it is gone', async () => {
    const table = new MemoryTable();
    const store = new MetadataStore(table);
    // The put reads the list and the metadata before it writes them. Its third read is its second look at the list.
    for (let reads = 0; reads < 2; reads++) table.before('GetItem', 'metadata', async () => {});
    table.before('GetItem', 'metadata', () => store.remove(TENANT, owner, 'rack'));
    await store.put(TENANT, owner, 'rack', '1');
    expect(await store.get(TENANT, owner, 'rack')).toBeUndefined();
    expect(await store.list(TENANT, owner)).toEqual([]);
  });
});
