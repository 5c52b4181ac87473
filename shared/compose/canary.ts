import { ApiKeys } from '../tenancy/api-keys';
import { Tenants } from '../tenancy/tenants';
import { metaTable } from './tables';

/** The adapters of the canary, from its environment. */
export function canaryDependencies() {
  const table = metaTable();
  return { keys: new ApiKeys(table), tenants: new Tenants(table) };
}
