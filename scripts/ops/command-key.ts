import type { CreatedKey } from '../../shared/operations/key-commands';
import type { Right } from '../../shared/tenancy/rights';
import { progress } from './command';
import type { Functions } from './invoke';
import { interruptible } from './signals';

export interface CommandKey {
  readonly tenant: string;
  readonly rights: readonly Right[];
  /** Lifetime of the key in ms, in case the command is killed before it can revoke the key. */
  readonly lifetimeMs: number;
}

/**
 * Runs work with an API key of its own. The key does not count towards a tenant's limit of two keys. It is revoked at
 * the end, even if Ctrl-C ends the command.
 */
export async function withCommandKey<T>(
  functions: Functions,
  { tenant, rights, lifetimeMs }: CommandKey,
  work: (key: string) => Promise<T>,
): Promise<T> {
  const creating = functions.invoke<CreatedKey>('operator', {
    command: 'keys create',
    tenant,
    rights,
    isOfCommand: true,
    expiresAt: Date.now() + lifetimeMs,
  });
  const revoke = async () => {
    const { publicId } = await creating;
    await functions.invoke('operator', { command: 'keys revoke', id: publicId });
  };
  const stop = async () => {
    progress('interrupted; revoking the key of this command');
    await revoke();
  };
  // The signal may arrive before the key has been created. `stop` then waits for the key, and revokes it.
  return interruptible(stop, async () => {
    try {
      return await work((await creating).key);
    } finally {
      await revoke();
    }
  });
}
