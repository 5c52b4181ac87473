import type { CreatedKey } from '../../shared/operations/key-commands';
import type { Right } from '../../shared/tenancy/rights';
import { progress } from './command';
import type { Functions } from './invoke';

export interface CommandKey {
  readonly tenant: string;
  readonly rights: readonly Right[];
  /** Time after which the key expires, in ms, in case the command is killed before it can revoke the key. */
  readonly lifetimeMs: number;
}

/** Exit codes of a command that a signal has ended, as is customary in shells. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Runs work with its own API key. The key does not count towards a tenant's limit of two keys. It is revoked at the
 * end, and also when Ctrl-C ends the command.
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
  const stop = (signal: keyof typeof SIGNALS) => {
    progress('interrupted; revoking the key of this command');
    void revoke()
      .catch((error: Error) => progress(error.message))
      .then(() => process.exit(SIGNALS[signal]));
  };
  // Handle signals from now on, because a signal may arrive before the response with the key.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    return await work((await creating).key);
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
    await revoke();
  }
}
