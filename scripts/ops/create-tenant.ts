import type { CreatedKey } from '../../shared/operations/key-commands';
import type { Functions } from './invoke';

/**
 * Creates a tenant and a key with the rights to read and write.
 *
 * @param partitions number of partitions. @default the stage's setting
 * @throws {OperatorError}
 */
export async function createTenant(
  functions: Functions,
  name: string,
  partitions?: number,
): Promise<CreatedKey> {
  await functions.invoke('operator', { command: 'tenants create', name, partitions });
  return functions.invoke('operator', { command: 'keys create', tenant: name, rights: ['read', 'write'] });
}
