import type { CreatedKey } from '../../shared/operations/key-commands';
import type { Functions } from './invoke';

/**
 * Creates a tenant and a key with the rights to read and write.
 *
 * @throws {OperatorError}
 */
export async function createTenant(functions: Functions, name: string): Promise<CreatedKey> {
  await functions.invoke('operator', { command: 'tenants create', name });
  return functions.invoke('operator', { command: 'keys create', tenant: name, rights: ['read', 'write'] });
}
