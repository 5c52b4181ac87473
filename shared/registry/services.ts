import { type Id, idOf } from '../model/id';
import { randomId } from '../model/random-id';
import type { Table } from '../platform/table';
import { Documents } from './documents';
import { RefusedError } from './refused';

/** Pattern of the names of services and roles; the same as Mackerel's. */
export const SERVICE_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{1,62}$/;

export interface Role {
  /**
   * Hosts refer to a role by this id. If a role is deleted and created again, it gets a new id, so the hosts that had
   * the old role do not get the new one.
   */
  readonly id: string;
  readonly name: string;
  readonly memo: string;
}

export interface Service {
  /** Like a role's id: a service that is deleted and created again gets a new one. */
  readonly id: string;
  readonly name: string;
  readonly memo: string;
  /** Sorted by name. */
  readonly roles: readonly Role[];
}

/** Maximum number of roles of a service. It keeps the service's item well below DynamoDB's 400 KB. */
const MAX_ROLES = 500;

/** Stores the services of a tenant with their roles, by a hash of the service's name. */
export class Services {
  private readonly services: Documents<Service>;

  constructor(table: Table) {
    this.services = new Documents(table, 'services');
  }

  /** Creates a service. Returns undefined when the name is taken. */
  async create(tenantId: Id, name: string, memo = ''): Promise<Service | undefined> {
    const service: Service = { id: randomId(), name, memo, roles: [] };
    return (await this.services.create(tenantId, keyOf(name), service)) ? service : undefined;
  }

  async get(tenantId: Id, name: string): Promise<Service | undefined> {
    return SERVICE_NAME.test(name) ? this.services.get(tenantId, keyOf(name)) : undefined;
  }

  /** Returns all services, sorted by name. */
  async list(tenantId: Id): Promise<Service[]> {
    return (await this.services.all(tenantId)).sort(byName);
  }

  /** Removes a service. Returns it, or undefined when there was none. */
  async remove(tenantId: Id, name: string): Promise<Service | undefined> {
    return SERVICE_NAME.test(name) ? this.services.remove(tenantId, keyOf(name)) : undefined;
  }

  /**
   * Creates a service and its roles, unless they exist already.
   *
   * @returns the ids of the roles
   * @throws {RefusedError} when the service would have more than {@link MAX_ROLES} roles
   */
  async ensure(tenantId: Id, name: string, roleNames: readonly string[]): Promise<string[]> {
    const service = await this.services.createOrChange(tenantId, keyOf(name), (found) => {
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
   * Adds a role to a service.
   *
   * @returns the role; `exists` when its name is taken; undefined when there is no such service
   * @throws {RefusedError} when the service would have more than {@link MAX_ROLES} roles
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

  /** Removes a role of a service. Returns the role, or undefined when there is no such role or service. */
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

/**
 * Returns a function that converts role ids to role names, grouped by service. Services and roles are
 * sorted. Ids of deleted roles are skipped.
 */
export function rolesByService(
  services: readonly Service[],
): (roleIds: readonly string[]) => Record<string, string[]> {
  const found = new Map<string, { readonly service: string; readonly role: string }>();
  for (const { name, roles } of services)
    for (const role of roles) found.set(role.id, { service: name, role: role.name });
  return (roleIds) => {
    const byService = new Map<string, string[]>();
    for (const id of roleIds) {
      const own = found.get(id);
      if (own === undefined) continue;
      const names = byService.get(own.service);
      if (names === undefined) byService.set(own.service, [own.role]);
      else names.push(own.role);
    }
    const sorted = [...byService].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([service, names]) => [service, names.sort()]));
  };
}

function withRoles(service: Service, added: readonly Role[]): Service {
  const roles = [...service.roles, ...added].sort(byName);
  if (roles.length > MAX_ROLES)
    throw new RefusedError(
      `the service ${service.name} would have ${roles.length} roles; at most ${MAX_ROLES} are allowed`,
    );
  return { ...service, roles };
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function keyOf(name: string): string {
  return idOf('service', name);
}
