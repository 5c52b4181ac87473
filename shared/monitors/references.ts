import { showText } from '../model/shown-value';
import { RefusedError } from '../registry/refused';
import type { Service } from '../registry/services';
import { parseScope } from './fields';
import { hasCycle, type NotificationGroup, type NotificationGroupSpec } from './notification-group';

/** The value of a field that refers to other objects by their names or ids. */
type Names = readonly string[] | null | undefined;

/** The fields in which downtimes and alert group settings refer to services, roles and monitors. */
interface Scopes {
  readonly serviceScopes?: Names;
  readonly serviceExcludeScopes?: Names;
  readonly roleScopes?: Names;
  readonly roleExcludeScopes?: Names;
  readonly monitorScopes?: Names;
  readonly monitorExcludeScopes?: Names;
}

/** Objects of a tenant to which other objects may refer. */
interface KnownObjects {
  readonly services: readonly Service[];
  readonly monitors: readonly { readonly id: string }[];
}

/**
 * Checks that the services, roles and monitors to which a downtime or an alert group setting refers exist.
 *
 * @param replaced the object that `spec` replaces; its references are allowed even if their objects have been
 *   deleted
 * @throws {RefusedError} naming the field and its value
 */
export function checkScopes(spec: Scopes, { services, monitors }: KnownObjects, replaced?: Scopes): void {
  for (const field of ['serviceScopes', 'serviceExcludeScopes'] as const)
    requireServices(field, spec[field], services, replaced?.[field]);
  for (const field of ['roleScopes', 'roleExcludeScopes'] as const)
    requireScopes(field, spec[field], services, replaced?.[field]);
  for (const field of ['monitorScopes', 'monitorExcludeScopes'] as const)
    requireIds(field, 'monitor', spec[field], monitors, replaced?.[field]);
}

/**
 * Checks that the groups, channels, monitors and services to which a notification group refers exist. Deleted
 * monitors and services that it already refers to may stay: the group must still be notified when the alerts
 * of a deleted monitor close.
 *
 * @param id id of the group that `spec` replaces; undefined for a new one
 * @throws {RefusedError} naming the field and its value, or if the group would contain itself
 */
export function checkNotificationGroup(
  spec: NotificationGroupSpec,
  { services, monitors, channels, groups }: KnownObjects & KnownDestinations,
  id: string | undefined,
): void {
  const replaced = groups.find((group) => group.id === id);
  const { childNotificationGroupIds } = spec;
  requireIds('childNotificationGroupIds', 'notification group', childNotificationGroupIds, groups);
  requireIds('childChannelIds', 'channel', spec.childChannelIds, channels);
  requireIds('monitors', 'monitor', monitorsOf(spec), monitors, replaced && monitorsOf(replaced));
  requireServices('services', servicesOf(spec), services, replaced && servicesOf(replaced));
  if (id !== undefined && hasCycle(groups, { id, childNotificationGroupIds }))
    throw new RefusedError('childNotificationGroupIds: the group would contain itself');
}

/** Objects that a notification group may notify. */
interface KnownDestinations {
  readonly channels: readonly { readonly id: string }[];
  readonly groups: readonly NotificationGroup[];
}

function monitorsOf({ monitors }: NotificationGroupSpec): Names {
  return monitors?.map(({ id }) => id);
}

function servicesOf({ services }: NotificationGroupSpec): Names {
  return services?.map(({ name }) => name);
}

/**
 * Checks that the services and roles of scopes exist.
 *
 * @param stored scopes that the object already has; they are allowed even if their service or role has been
 *   deleted
 * @throws {RefusedError} for any other service or role that does not exist
 */
export function requireScopes(
  field: string,
  scopes: Names,
  services: readonly Service[],
  stored: Names,
): void {
  for (const [i, scope] of (scopes ?? []).entries()) {
    if (stored?.includes(scope)) continue;
    const { service: name, role } = parseScope(scope);
    const service = services.find((each) => each.name === name);
    const isKnown =
      service !== undefined && (role === undefined || service.roles.some((each) => each.name === role));
    if (!isKnown) throw unknownError(`${field}.${i}`, role === undefined ? 'service' : 'role', scope);
  }
}

/**
 * Checks that services exist.
 *
 * @param stored names that the object already has; they are allowed even if their services have been deleted
 * @throws {RefusedError} for any other service that does not exist
 */
export function requireServices(
  field: string,
  names: Names,
  services: readonly Service[],
  stored: Names,
): void {
  for (const [i, name] of (names ?? []).entries())
    if (!services.some((each) => each.name === name) && !stored?.includes(name))
      throw unknownError(field === 'service' ? field : `${field}.${i}`, 'service', name);
}

/**
 * Checks that the objects with these ids exist.
 *
 * @param stored ids that the object already has; they are allowed even if their objects have been deleted
 * @throws {RefusedError} for any other id that is not in `known`
 */
function requireIds(
  field: string,
  what: string,
  ids: Names,
  known: readonly { readonly id: string }[],
  stored?: Names,
): void {
  for (const [i, id] of (ids ?? []).entries())
    if (!known.some((each) => each.id === id) && !stored?.includes(id))
      throw unknownError(`${field}.${i}`, what, id);
}

function unknownError(field: string, what: string, name: string): RefusedError {
  return new RefusedError(`${field}: there is no ${what} ${showText(name)}`);
}
