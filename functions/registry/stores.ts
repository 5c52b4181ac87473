import { metaTable } from '../../shared/compose/tables';
import { found } from '../../shared/http/http';
import { ANSWERING } from '../../shared/platform/call-time';
import { settings } from '../../shared/platform/environment';
import { GraphAnnotations } from '../../shared/registry/graph-annotations';
import { GraphDefinitions } from '../../shared/registry/graph-definitions';
import { HostRegistration } from '../../shared/registry/host-registration';
import { type Host, Hosts } from '../../shared/registry/hosts';
import { MetadataStore } from '../../shared/registry/metadata';
import { type Service, Services } from '../../shared/registry/services';
import { ApiKeys } from '../../shared/tenancy/api-keys';
import { HostCount } from '../../shared/tenancy/host-count';
import { TenantMeter } from '../../shared/tenancy/tenant-meter';
import { type Tenant, Tenants } from '../../shared/tenancy/tenants';
import { UsageTable } from '../../shared/tenancy/usage-table';

const table = metaTable(ANSWERING);

export const gatekeeper = {
  keys: new ApiKeys(table),
  tenants: new Tenants(table),
  meter: new TenantMeter(new UsageTable(table), settings()),
};
export const hosts = new Hosts(table);
export const services = new Services(table);
export const registration = new HostRegistration(hosts, services, new HostCount(table));
export const metadata = new MetadataStore(table);
export const graphDefinitions = new GraphDefinitions(table);
export const annotations = new GraphAnnotations(table);

/** @throws {HttpError} 404 */
export async function requireHost(tenant: Tenant, hostId: string): Promise<Host> {
  return found('host', hostId, await hosts.get(tenant.id, hostId));
}

/** @throws {HttpError} 404 */
export async function requireService(tenant: Tenant, name: string): Promise<Service> {
  return found('service', name, await services.get(tenant.id, name));
}
