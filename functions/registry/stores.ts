import { registryDependencies } from '../../shared/compose/registry';
import { found } from '../../shared/http/http';
import type { Host } from '../../shared/registry/hosts';
import type { Service } from '../../shared/registry/services';
import type { Tenant } from '../../shared/tenancy/tenants';

export const {
  gatekeeper,
  hosts,
  services,
  registration,
  metadata,
  graphDefinitions,
  annotations,
  ruleGroups,
  ruleStates,
  receivers,
  silences,
  allowsPrivateReceivers,
  alertTopics,
} = registryDependencies();

/** @throws {HttpError} 404 */
export async function requireHost(tenant: Tenant, hostId: string): Promise<Host> {
  return found('host', hostId, await hosts.get(tenant.id, hostId));
}

/** @throws {HttpError} 404 */
export async function requireService(tenant: Tenant, name: string): Promise<Service> {
  return found('service', name, await services.get(tenant.id, name));
}
