import { registryDependencies } from '../../shared/compose/registry';
import { HttpError, requireFound } from '../../shared/http/http';
import { requirePublicHost } from '../../shared/platform/public-address';
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
  taskIndex,
  evaluatorStore,
  alerts,
  checks,
  monitorStates,
  closing,
  receivers,
  silences,
  monitors,
  downtimes,
  channels,
  notificationGroups,
  alertGroupSettings,
  dashboards,
  allowsPrivateReceivers,
  alertTopics,
  sendsMail,
} = registryDependencies();

/**
 * Reads a host.
 *
 * @throws {HttpError} 404 if it is unknown
 */
export async function requireHost(tenant: Tenant, hostId: string): Promise<Host> {
  return requireFound('host', hostId, await hosts.get(tenant.id, hostId));
}

/**
 * Reads a service.
 *
 * @throws {HttpError} 404 if it is unknown
 */
export async function requireService(tenant: Tenant, name: string): Promise<Service> {
  return requireFound('service', name, await services.get(tenant.id, name));
}

/**
 * Refuses a URL with a private IP address, unless the stage allows private addresses. Host names are checked when
 * requests are sent.
 *
 * @throws {HttpError} 400
 */
export function requirePublicUrl(field: string, text: string): void {
  if (allowsPrivateReceivers) return;
  try {
    requirePublicHost(new URL(text));
  } catch (error) {
    throw new HttpError(400, `${field}: ${(error as Error).message}`);
  }
}
