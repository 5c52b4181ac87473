import { PoolTable } from '../catalogue/pool-table';
import { SeriesDictionaries } from '../dictionary/dictionaries';
import { CACHES } from '../model/cache-budgets';
import { settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { Imports } from '../recovery/imports';
import { Pools } from '../stream/pools';
import { Tenants } from '../tenancy/tenants';
import { streamClient } from './stream';
import { metaTable } from './tables';

/** The adapters of the importer, from its environment. */
export function importerDependencies() {
  const { retention, smallSources } = settings();
  const table = metaTable();
  return {
    tenants: new Tenants(table),
    imports: new Imports(table),
    dictionaries: new SeriesDictionaries(CACHES.seriesDictionaries),
    pools: new Pools(new PoolTable(table, retention), smallSources === 'pooled'),
    stageRetentionMs: retention,
    kinesis: streamClient(),
    stream: variable(ENV.stream),
  };
}
