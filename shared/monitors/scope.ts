import type { HostStatus } from '../registry/hosts';
import { parseScope } from './fields';

/** Names of a host's roles, by service. */
export type HostRoles = Readonly<Record<string, readonly string[]>>;

/** Returns whether hosts with a status are watched: all but those in maintenance or powered off. */
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

/**
 * Returns whether a monitor watches a host with these roles. Without scopes, it watches every host that it
 * does not exclude.
 */
export function watches({ scopes, excludeScopes }: Scopes, roles: HostRoles): boolean {
  const isIncluded = (scopes ?? []).length === 0 || isInScope(roles, scopes!);
  return isIncluded && !isInScope(roles, excludeScopes ?? []);
}
