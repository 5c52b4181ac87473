import type { CreatedKey } from '../../shared/operations/key-commands';
import type { Functions } from './invoke';

/**
 * Creates a tenant with a key that may read and write.
 *
 * @param partitions of the tenant. @default those of the stage
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
