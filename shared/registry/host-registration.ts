import type { Id } from '../model/id';
import { mapLimited } from '../platform/concurrency';
import type { HostCount } from './host-count';
import { type Host, type HostSpec, type Hosts, requireActive, requireFits } from './hosts';
import type { Services } from './services';

/** A role as clients write it, `service:role`. */
export interface RoleFullname {
  readonly service: string;
  readonly role: string;
}

/** Maximum number of services written in parallel. */
const PARALLEL = 16;

/**
 * Registers hosts, assigns their roles and retires them. Services and roles that a host names are created if
 * missing.
 */
export class HostRegistration {
  constructor(
    private readonly hosts: Hosts,
    private readonly services: Services,
    private readonly count: HostCount,
  ) {}

  /**
   * Registers a host.
   *
   * @returns the new host; undefined when the tenant already has `maxHosts` hosts
   * @throws {RefusedError} when the host is too large, or a service would have too many roles
   */
  async register(
    tenantId: Id,
    spec: HostSpec,
    roles: readonly RoleFullname[],
    maxHosts: number,
  ): Promise<Host | undefined> {
    requireFits(spec);
    if (!(await this.count.take(tenantId, maxHosts))) return undefined;
    try {
      return await this.hosts.create(tenantId, spec, await this.ensureRoles(tenantId, roles));
    } catch (error) {
      await this.count.give(tenantId);
      throw error;
    }
  }

  /**
   * Retires a host. Safe to retry.
   *
   * @returns false when the id is unknown
   */
  async retire(tenantId: Id, hostId: string): Promise<boolean> {
    const retired = await this.hosts.retire(tenantId, hostId);
    if (retired === 'now') await this.count.give(tenantId);
    return retired !== undefined;
  }

  /**
   * Replaces a host's spec and adds roles. As in Mackerel, the host keeps roles that are not listed.
   *
   * @returns the changed host; undefined when the id is unknown, in which case no role is created
   * @throws {RefusedError} as `register`, and when the host is retired
   */
  async update(
    tenantId: Id,
    hostId: string,
    spec: HostSpec,
    roles: readonly RoleFullname[],
  ): Promise<Host | undefined> {
    requireFits(spec);
    const host = await this.hosts.get(tenantId, hostId);
    if (host === undefined) return undefined;
    requireActive(host);
    const added = await this.ensureRoles(tenantId, roles);
    await this.hosts.indexIdentifier(tenantId, hostId, spec.customIdentifier);
    return this.hosts.change(tenantId, hostId, (found) => ({
      ...found,
      ...spec,
      roleIds: [...new Set([...found.roleIds, ...added])],
    }));
  }

  /**
   * Replaces a host's roles.
   *
   * @returns undefined when the id is unknown
   * @throws {RefusedError} when the host is retired, or a service would have too many roles
   */
  async setRoles(tenantId: Id, hostId: string, roles: readonly RoleFullname[]): Promise<Host | undefined> {
    const host = await this.hosts.get(tenantId, hostId);
    if (host === undefined) return undefined;
    requireActive(host);
    const roleIds = await this.ensureRoles(tenantId, roles);
    return this.hosts.change(tenantId, hostId, (found) => ({ ...found, roleIds }));
  }

  /**
   * Creates missing services and roles.
   *
   * @returns the ids of all the roles
   */
  private async ensureRoles(tenantId: Id, roles: readonly RoleFullname[]): Promise<string[]> {
    const byService = Map.groupBy(roles, ({ service }) => service);
    const ids = await mapLimited([...byService], PARALLEL, ([service, named]) =>
      this.services.ensure(tenantId, service, [...new Set(named.map(({ role }) => role))]),
    );
    return ids.flat();
  }
}
