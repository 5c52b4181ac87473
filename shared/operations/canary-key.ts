import { DAY_MS } from '../model/duration';
import type { ApiKeys } from '../tenancy/api-keys';
import { RIGHTS } from '../tenancy/rights';
import type { Tenants } from '../tenancy/tenants';

/** The canary has a tenant of its own, so that its samples do not count towards any customer's usage. */
export const CANARY_TENANT = 'canary';
const LIFETIME_MS = 7 * DAY_MS;

/**
 * Creates the canary's API key, and revokes the keys of earlier instances. The key exists only in this
 * instance's memory, so no template, environment variable or parameter contains a secret.
 */
export async function canaryKey(
  { keys, tenants }: { readonly keys: ApiKeys; readonly tenants: Tenants },
  nowMs: number,
): Promise<string> {
  const tenant = await tenants.create(CANARY_TENANT, 1);
  for (const { publicId } of await keys.list(tenant.id)) await keys.revoke(publicId);
  const { key } = await keys.create({ tenant: CANARY_TENANT, rights: RIGHTS }, nowMs + LIFETIME_MS);
  return key;
}
