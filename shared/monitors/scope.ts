import type { HostStatus } from '../registry/hosts';
import type { Downtime } from './downtime';
import { parseScope } from './fields';

/** Names of a host's roles, by service. */
export type HostRoles = Readonly<Record<string, readonly string[]>>;

/** Returns whether a host with this status is watched. Hosts in maintenance or powered off are not. */
export function isWatchedStatus(status: HostStatus): boolean {
  return status === 'working' || status === 'standby';
}

export interface Scopes {
  readonly scopes?: readonly string[] | null;
  readonly excludeScopes?: readonly string[] | null;
}

/** Returns whether a host belongs to any of the services and roles. */
export function isInScope(roles: HostRoles, scopes: readonly string[]): boolean {
  return scopes.some((scope) => {
    const { service, role } = parseScope(scope);
    if (!Object.hasOwn(roles, service)) return false;
    return role === undefined || roles[service]!.includes(role);
  });
}

/** Returns whether a subject is in an included scope (if any are given), and in no excluded scope. */
function fits(
  included: readonly string[] | null | undefined,
  excluded: readonly string[] | null | undefined,
  isIn: (scopes: readonly string[]) => boolean,
): boolean {
  return ((included ?? []).length === 0 || isIn(included!)) && !isIn(excluded ?? []);
}

/** Returns whether a monitor watches a host with these roles. */
export function watches({ scopes, excludeScopes }: Scopes, roles: HostRoles): boolean {
  return fits(scopes, excludeScopes, (all) => isInScope(roles, all));
}

/** A subject that a downtime may apply to. */
export interface DownSubject {
  readonly monitorId: string;
  /** The host's roles, if the subject is a host. */
  readonly roles?: HostRoles;
  /** The service, if the subject is a metric of a service or an external URL with a service. */
  readonly service?: string;
}

/**
 * Returns whether a downtime applies to a subject. If the downtime has scopes of several kinds, the subject
 * must fit each kind.
 */
export function concerns(downtime: Downtime, { monitorId, roles = {}, service }: DownSubject): boolean {
  const all: HostRoles = service === undefined ? roles : { [service]: [] };
  return (
    fits(downtime.serviceScopes, downtime.serviceExcludeScopes, (scopes) => isInScope(all, scopes)) &&
    fits(downtime.roleScopes, downtime.roleExcludeScopes, (scopes) => isInScope(all, scopes)) &&
    fits(downtime.monitorScopes, downtime.monitorExcludeScopes, (ids) => ids.includes(monitorId))
  );
}
