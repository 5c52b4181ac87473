import { setImmediate as turn } from 'node:timers/promises';
import type { SourceCatalogue } from '../../../shared/catalogue/catalogue';
import { NOTHING_JOINED } from '../../../shared/catalogue/shape-columns';
import { tenantIdOf } from '../../../shared/model/placement';
import { Querier, type SelectDependencies } from '../../../shared/query/select';
import type { Tenant } from '../../../shared/tenancy/tenants';

const tenant = { id: tenantIdOf('a'), name: 'a', placement: { epochs: [] } } as unknown as Tenant;
const nothing: SourceCatalogue = {
  layouts: new Map(),
  splits: new Map(),
  windowLengthsMs: [],
  firstMs: Infinity,
  deletions: [],
};

describe('selections that begin together', () => {
  test('500 selections of a host each have at most 32 requests to the catalogue under way', async () => {
    let underWay = 0;
    let most = 0;
    let requested = 0;
    const source = async () => {
      requested++;
      most = Math.max(most, ++underWay);
      await turn();
      underWay--;
      return nothing;
    };
    const querier = new Querier(
      {
        hostLabels: { of: async () => NOTHING_JOINED },
        catalogue: { source },
      } as unknown as SelectDependencies,
      tenant,
    );
    const hosts = Array.from({ length: 500 }, (_, i) => `h${i}`);
    const selected = await Promise.all(
      hosts.map((value) => querier.select([{ label: 'host', op: '=', value }], { fromMs: 0, toMs: 1 })),
    );
    expect(selected.every(({ blocks }) => blocks.length === 0)).toBe(true);
    expect({ requested, most }).toEqual({ requested: 500, most: 32 });
  });
});

describe('the list of changes', () => {
  test('fails a selection alone, even if the index needs no list', async () => {
    const querier = new Querier(
      {
        // The instance has never read this period, so its index needs no list.
        indexes: { of: async () => ({ version: 1 }) },
        hostLabels: { of: async () => NOTHING_JOINED },
        catalogue: { changes: { all: () => Promise.reject(new Error('no list')) } },
      } as unknown as SelectDependencies,
      tenant,
    );
    const selected = querier.select([{ label: 'a', op: '=', value: 'b' }], { fromMs: 0, toMs: 1 });
    await expect(selected).rejects.toThrow('no list');
    // If a rejection is not handled by then, Jest fails the test.
    await turn();
  });
});
