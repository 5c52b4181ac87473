import { SeriesDictionaries } from '../dictionary/dictionaries';
import { CACHES } from '../model/cache-budgets';
import { settings } from '../platform/environment';
import { Imports } from '../recovery/imports';
import { Tenants } from '../tenancy/tenants';
import { metaTable } from './aws-clients';
import { sampleWriter } from './sample-writer';

/** Builds the importer's stores and clients from its environment variables. */
export function importerDependencies() {
  const stage = settings();
  const table = metaTable();
  return {
    tenants: new Tenants(table),
    imports: new Imports(table),
    dictionaries: new SeriesDictionaries(CACHES.seriesDictionaries),
    writer: sampleWriter(table, stage).writer,
    stageRetentionMs: stage.retention,
  };
}
