import type { HostStatus } from '../registry/hosts';
import { parseScope } from './fields';

/** The names of a host's roles by service. */
export type HostRoles = Readonly<Record<string, readonly string[]>>;

/** Whether hosts of a status are watched: those in maintenance or off are not. */
export function isWatchedStatus(status: HostStatus): boolean {
  return status === 'working' || status === 'standby';
}

export interface Scopes {
  readonly scopes?: readonly string[] | null;
  readonly excludeScopes?: readonly string[] | null;
}

/** Whether a host is in one of some services and roles. */
export function isInScope(roles: HostRoles, scopes: readonly string[]): boolean {
  return scopes.some((scope) => {
    const { service, role } = parseScope(scope);
    if (!Object.hasOwn(roles, service)) return false;
    return role === undefined || roles[service]!.includes(role);
  });
}

/** Whether a monitor watches a host with some roles. A monitor without scopes watches all that it does not exclude. */
export function watches({ scopes, excludeScopes }: Scopes, roles: HostRoles): boolean {
  const isIncluded = (scopes ?? []).length === 0 || isInScope(roles, scopes!);
  return isIncluded && !isInScope(roles, excludeScopes ?? []);
}
