import { Catalogue } from '../catalogue/catalogue';
import { settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { Tenants } from '../tenancy/tenants';
import { metaTable, streamClient } from './aws-clients';

/** Builds the deleter's stores and clients from its environment variables. */
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
