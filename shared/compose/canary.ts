import { ApiKeys } from '../tenancy/api-keys';
import { Tenants } from '../tenancy/tenants';
import { metaTable } from './aws-clients';

/** Builds the canary's stores and clients from its environment variables. */
export function canaryDependencies() {
  const table = metaTable();
  return { keys: new ApiKeys(table), tenants: new Tenants(table) };
}
