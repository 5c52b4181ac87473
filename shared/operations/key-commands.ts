import { InvalidEventError } from '../platform/event';
import { type Grant, type KeyDescription, TooManyKeysError } from '../tenancy/api-keys';
import type { OperatorDependencies } from './operator-dependencies';
import type { OperatorCommand } from './operator-event';
import { requireTenant } from './tenant-commands';

/** A new API key. Only its hash is stored, so it cannot be shown again. */
export interface CreatedKey {
  readonly key: string;
  readonly publicId: string;
}

export async function createKey(
  { tenants, keys, now }: OperatorDependencies,
  { tenant, rights, expiresAt, isOfCommand }: OperatorCommand<'keys create'>,
): Promise<CreatedKey> {
  const { name } = await requireTenant(tenants, tenant);
  if (expiresAt !== undefined && expiresAt <= now())
    throw new InvalidEventError(`expiresAt: ${new Date(expiresAt).toISOString()} is in the past`);
  if (isOfCommand && expiresAt === undefined)
    throw new InvalidEventError('expiresAt: a key of a command needs it');
  return keys.create({ tenant: name, rights }, expiresAt, isOfCommand).catch((error: unknown) => {
    throw error instanceof TooManyKeysError ? new InvalidEventError(error.message) : error;
  });
}

export async function listKeys(
  { tenants, keys }: OperatorDependencies,
  { tenant }: OperatorCommand<'keys list'>,
): Promise<KeyDescription[]> {
  return keys.list((await requireTenant(tenants, tenant)).id);
}

export async function revokeKey(
  { keys }: OperatorDependencies,
  { id }: OperatorCommand<'keys revoke'>,
): Promise<Grant> {
  const grant = await keys.revoke(publicIdOf(id) ?? '');
  // Do not repeat the operator's input in the message: it may be a whole key, including the secret.
  if (grant === undefined)
    throw new InvalidEventError('there is no key with that id; keys list shows the ids');
  return grant;
}

/** Extracts the public id from an operator's input: the id itself or, by mistake, the whole key. */
function publicIdOf(text: string): string | undefined {
  return /^(?:ht_)?([A-Za-z0-9]{12})(?:_|$)/.exec(text)?.[1];
}
