import { HttpError } from '../../shared/http/http';
import { metaTable, settings } from '../../shared/platform/environment';
import { GraphAnnotations } from '../../shared/registry/graph-annotations';
import { GraphDefinitions } from '../../shared/registry/graph-definitions';
import { type Host, Hosts } from '../../shared/registry/hosts';
import { MetadataStore } from '../../shared/registry/metadata';
import { type Service, Services } from '../../shared/registry/services';
import { ApiKeys } from '../../shared/tenancy/api-keys';
import { TenantMeter } from '../../shared/tenancy/tenant-meter';
import { type Tenant, Tenants } from '../../shared/tenancy/tenants';
import { UsageTable } from '../../shared/tenancy/usage-table';

const table = metaTable();

export const gatekeeper = {
  keys: new ApiKeys(table),
  tenants: new Tenants(table),
  meter: new TenantMeter(new UsageTable(table), settings()),
};
export const hosts = new Hosts(table);
export const services = new Services(table);
export const metadata = new MetadataStore(table);
export const graphDefinitions = new GraphDefinitions(table);
export const annotations = new GraphAnnotations(table);

/** @throws {HttpError} 404 */
export async function requireHost(tenant: Tenant, hostId: string): Promise<Host> {
  return existing('host', hostId, await hosts.get(tenant.id, hostId));
}

/** @throws {HttpError} 404 */
export async function requireService(tenant: Tenant, name: string): Promise<Service> {
  return existing('service', name, await services.get(tenant.id, name));
}

/**
 * What was found.
 *
 * @param what `host`, for the error
 * @throws {HttpError} 404, naming it
 */
export function existing<T>(what: string, name: string, found: T | undefined): T {
  if (found === undefined)
    throw new HttpError(404, `there is no ${what} ${JSON.stringify(name.slice(0, 100))}`);
  return found;
}

/**
 * A host that can be changed.
 *
 * @throws {HttpError} 400 when it is retired
 */
export function active(host: Host): Host {
  if (host.retiredAt !== null) throw new HttpError(400, `the host ${host.id} is retired`);
  return host;
}
