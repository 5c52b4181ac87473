import { type Id, idOf } from '../model/id';
import { randomId } from '../model/random-id';
import type { Table } from '../platform/table';
import { Documents } from './documents';

/** Names of services and roles. @see Mackerel's API documentation, services */
export const SERVICE_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{1,62}$/;

export interface Role {
  /** Hosts refer to it. A role that is deleted and made again has another, so that no host comes back to it. */
  readonly id: string;
  readonly name: string;
  readonly memo: string;
}

export interface Service {
  /** Another for a service that is deleted and made again, as roles have. */
  readonly id: string;
  readonly name: string;
  readonly memo: string;
  /** By name. */
  readonly roles: readonly Role[];
}

/** Keeps a service, one item of DynamoDB, well below 400 KB. */
export const MAX_ROLES = 500;

/** A service has {@link MAX_ROLES} already. */
export class TooManyRolesError extends Error {
  override readonly name = 'TooManyRolesError';
}

/** The services of a tenant with their roles, by the hash of the service's name. */
export class Services {
  private readonly services: Documents<Service>;

  constructor(table: Table) {
    this.services = new Documents(table, 'services');
  }

  /** @returns undefined when there is one of that name already */
  async create(tenantId: Id, name: string, memo = ''): Promise<Service | undefined> {
    const service: Service = { id: randomId(), name, memo, roles: [] };
    return (await this.services.create(tenantId, keyOf(name), service)) ? service : undefined;
  }

  async get(tenantId: Id, name: string): Promise<Service | undefined> {
    return SERVICE_NAME.test(name) ? this.services.get(tenantId, keyOf(name)) : undefined;
  }

  /** By name. */
  async list(tenantId: Id): Promise<Service[]> {
    const services: Service[] = [];
    for await (const { value } of this.services.list(tenantId)) services.push(value);
    return services.sort(byName);
  }

  /** @returns the service as it was; undefined when there was none */
  async remove(tenantId: Id, name: string): Promise<Service | undefined> {
    return SERVICE_NAME.test(name) ? this.services.remove(tenantId, keyOf(name)) : undefined;
  }

  /**
   * Makes sure of a service and its roles.
   *
   * @returns the ids of the roles
   * @throws {TooManyRolesError}
   */
  async ensure(tenantId: Id, name: string, roleNames: readonly string[]): Promise<string[]> {
    const service = await this.services.settle(tenantId, keyOf(name), (found) => {
      const existing = found ?? { id: randomId(), name, memo: '', roles: [] };
      const missing = roleNames.filter((roleName) => existing.roles.every((role) => role.name !== roleName));
      if (found !== undefined && missing.length === 0) return found;
      return withRoles(
        existing,
        missing.map((roleName) => ({ id: randomId(), name: roleName, memo: '' })),
      );
    });
    return service!.roles.filter((role) => roleNames.includes(role.name)).map((role) => role.id);
  }

  /**
   * @returns the role; `exists` when there is one of that name; undefined when there is no such service
   * @throws {TooManyRolesError}
   */
  async addRole(
    tenantId: Id,
    name: string,
    role: { readonly name: string; readonly memo: string },
  ): Promise<Role | 'exists' | undefined> {
    if (!SERVICE_NAME.test(name)) return undefined;
    const added: Role = { id: randomId(), name: role.name, memo: role.memo };
    const service = await this.services.change(tenantId, keyOf(name), (found) =>
      found.roles.some((other) => other.name === role.name) ? found : withRoles(found, [added]),
    );
    if (service === undefined) return undefined;
    return service.roles.some(({ id }) => id === added.id) ? added : 'exists';
  }

  /** @returns the role as it was; undefined when there was none, or no such service */
  async removeRole(tenantId: Id, name: string, roleName: string): Promise<Role | undefined> {
    let removed: Role | undefined;
    if (!SERVICE_NAME.test(name)) return undefined;
    await this.services.change(tenantId, keyOf(name), (found) => {
      removed = found.roles.find((role) => role.name === roleName);
      return removed === undefined ? found : { ...found, roles: found.roles.filter((r) => r !== removed) };
    });
    return removed;
  }
}

/** The roles of hosts, as clients see them: service -> names of roles, both sorted. */
export function rolesByService(
  services: readonly Service[],
): (roleIds: readonly string[]) => Record<string, string[]> {
  const places = new Map<string, { readonly service: string; readonly role: string }>();
  for (const { name, roles } of services)
    for (const role of roles) places.set(role.id, { service: name, role: role.name });
  return (roleIds) => {
    const byService = new Map<string, string[]>();
    for (const id of roleIds) {
      const place = places.get(id);
      if (place === undefined) continue;
      const names = byService.get(place.service);
      if (names === undefined) byService.set(place.service, [place.role]);
      else names.push(place.role);
    }
    const sorted = [...byService].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([service, names]) => [service, names.sort()]));
  };
}

function withRoles(service: Service, added: readonly Role[]): Service {
  const roles = [...service.roles, ...added].sort(byName);
  if (roles.length > MAX_ROLES)
    throw new TooManyRolesError(`the service ${service.name} would have more than ${MAX_ROLES} roles`);
  return { ...service, roles };
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function keyOf(name: string): string {
  return idOf('service', name);
}
