import type { Downtime } from './downtime';
import { type HostRoles, isInScope } from './scope';

/** Something that a downtime may apply to. */
export interface DownSubject {
  readonly monitorId: string;
  /** The host's roles, if it is a host. */
  readonly roles?: HostRoles;
  /** The service, if it is a metric of a service. */
  readonly service?: string;
}

/**
 * Returns whether a downtime applies to something. Every kind of scope that the downtime names must match.
 */
export function concerns(downtime: Downtime, { monitorId, roles = {}, service }: DownSubject): boolean {
  const all: HostRoles = service === undefined ? roles : { [service]: [] };
  const fits = (
    included: readonly string[] | null | undefined,
    excluded: readonly string[] | null | undefined,
    isIn: (scopes: readonly string[]) => boolean,
  ) => ((included ?? []).length === 0 || isIn(included!)) && !isIn(excluded ?? []);
  return (
    fits(downtime.serviceScopes, downtime.serviceExcludeScopes, (scopes) => isInScope(all, scopes)) &&
    fits(downtime.roleScopes, downtime.roleExcludeScopes, (scopes) => isInScope(all, scopes)) &&
    fits(downtime.monitorScopes, downtime.monitorExcludeScopes, (ids) => ids.includes(monitorId))
  );
}
