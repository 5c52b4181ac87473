import { ApiKeys } from '../tenancy/api-keys';
import { Tenants } from '../tenancy/tenants';
import { metaTable } from './tables';

/** Makes the stores and clients of the canary, as its environment variables configure them. */
export function canaryDependencies() {
  const table = metaTable();
  return { keys: new ApiKeys(table), tenants: new Tenants(table) };
}
