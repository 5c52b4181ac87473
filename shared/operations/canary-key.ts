import type { ApiKeys } from '../tenancy/api-keys';
import { RIGHTS } from '../tenancy/rights';
import type { Tenants } from '../tenancy/tenants';

/** A tenant of its own: what it posts is nobody's. */
export const CANARY_TENANT = 'canary';
const LIFETIME_MS = 7 * 86_400_000;

/**
 * Makes a key that is in this instance's memory and nowhere else, and revokes those of earlier instances: no secret stands in a
 * template, an environment or a parameter.
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
