import { SeriesDictionaries } from '../dictionary/dictionaries';
import { CACHES } from '../model/cache-budgets';
import { REQUEST_CALL_TIMES } from '../platform/call-time';
import { settings } from '../platform/environment';
import { Hosts } from '../registry/hosts';
import { MetricMetadataStore } from '../registry/metric-metadata';
import { Services } from '../registry/services';
import { ApiKeys } from '../tenancy/api-keys';
import { Tenants } from '../tenancy/tenants';
import { metaTable } from './aws-clients';
import { sampleWriter } from './sample-writer';

/** Builds the stores and clients of post from its environment variables. */
export function postDependencies() {
  const stage = settings();
  const table = metaTable(REQUEST_CALL_TIMES);
  return {
    keys: new ApiKeys(table),
    tenants: new Tenants(table),
    ...sampleWriter(table, stage),
    hosts: new Hosts(table),
    services: new Services(table),
    metadata: new MetricMetadataStore(table),
    dictionaries: new SeriesDictionaries(CACHES.seriesDictionaries),
    maxSampleAgeMs: stage.maxSampleAge,
    resolutionMs: stage.resolution,
  };
}
