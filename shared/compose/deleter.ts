import { Catalogue } from '../catalogue/catalogue';
import { settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { Tenants } from '../tenancy/tenants';
import { streamClient } from './stream';
import { metaTable } from './tables';

/** Makes the stores and clients of the deleter, as its environment variables configure them. */
export function deleterDependencies() {
  const { retention } = settings();
  const table = metaTable();
  return {
    tenants: new Tenants(table),
    catalogue: new Catalogue(table, retention),
    kinesis: streamClient(),
    stream: variable(ENV.stream),
  };
}
