import type { SourceName } from '../../shared/operations/find-source';
import type { SourceDescription } from '../../shared/operations/sample-commands';
import { type Functions, OperatorError } from './invoke';

/** Options that name a tenant's host or service. */
export interface SourceOptions extends SourceName {
  readonly tenant: string;
}

/** @throws {OperatorError} unless exactly one of host and service is given */
export function requireOneSource({ host, service }: SourceName): void {
  if ((host === undefined) === (service === undefined))
    throw new OperatorError('give either --host or --service');
}

/**
 * Finds a host by its id or name, or a service.
 *
 * @throws {OperatorError} if the tenant has none
 */
export async function findSource(
  functions: Functions,
  { tenant, host, service }: SourceOptions,
): Promise<SourceDescription> {
  return functions.invoke('operator', { command: 'find source', tenant, host, service });
}
