import { Catalogue } from '../catalogue/catalogue';
import { PoolTable } from '../catalogue/pool-table';
import { SeriesDictionaries } from '../dictionary/dictionaries';
import { CACHES } from '../model/cache-budgets';
import { ANSWERING } from '../platform/call-time';
import { settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { Hosts } from '../registry/hosts';
import { MetricMetadataStore } from '../registry/metric-metadata';
import { Services } from '../registry/services';
import { Pools } from '../stream/pools';
import { ApiKeys } from '../tenancy/api-keys';
import { KnownSeries } from '../tenancy/known-series';
import { TenantMeter } from '../tenancy/tenant-meter';
import { Tenants } from '../tenancy/tenants';
import { UsageTable } from '../tenancy/usage-table';
import { streamClient } from './stream';
import { metaTable } from './tables';

/** The adapters of post, from its environment. */
export function postDependencies() {
  const stage = settings();
  const table = metaTable(ANSWERING);
  return {
    keys: new ApiKeys(table),
    tenants: new Tenants(table),
    meter: new TenantMeter(new UsageTable(table), stage),
    hosts: new Hosts(table),
    services: new Services(table),
    metadata: new MetricMetadataStore(table),
    dictionaries: new SeriesDictionaries(CACHES.seriesDictionaries),
    knownSeries: new KnownSeries(new Catalogue(table, stage.retention)),
    pools: new Pools(new PoolTable(table, stage.retention), stage.smallSources === 'pooled'),
    kinesis: streamClient(),
    stream: variable(ENV.stream),
    maxSampleAgeMs: stage.maxSampleAge,
    resolutionMs: stage.resolution,
  };
}

export type PostDependencies = ReturnType<typeof postDependencies>;
