import { settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { Imports } from '../recovery/imports';
import { Tenants } from '../tenancy/tenants';
import { streamClient } from './stream';
import { metaTable } from './tables';

/** The adapters of the importer, from its environment. */
export function importerDependencies() {
  const { retention } = settings();
  const table = metaTable();
  return {
    tenants: new Tenants(table),
    imports: new Imports(table),
    stageRetentionMs: retention,
    kinesis: streamClient(),
    stream: variable(ENV.stream),
  };
}
