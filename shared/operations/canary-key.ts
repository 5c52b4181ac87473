import type { ApiKeys } from '../tenancy/api-keys';
import { RIGHTS } from '../tenancy/rights';
import type { Tenants } from '../tenancy/tenants';

/** The canary has a tenant of its own, so that its samples appear in no customer's usage. */
export const CANARY_TENANT = 'canary';
const LIFETIME_MS = 7 * 86_400_000;

/**
 * Creates the canary's key, which only this instance's memory has, and revokes those of earlier instances. So no template,
 * environment or parameter holds a secret.
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
