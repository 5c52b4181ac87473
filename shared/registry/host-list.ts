import type { Host, HostStatus } from './hosts';
import { RefusedError } from './refused';
import { rolesByService, type Service } from './services';

/** A host as clients see it. */
export type HostView = ReturnType<ReturnType<typeof hostViews>>;

/** Returns a function that converts hosts to {@link HostView}. The services supply the names of roles. */
export function hostViews(services: readonly Service[]) {
  const rolesOf = rolesByService(services);
  return ({ roleIds, retiredAt, ...host }: Host) => ({
    ...host,
    type: 'unknown',
    size: 'standard',
    roles: rolesOf(roleIds),
    isRetired: retiredAt !== null,
    ...(retiredAt !== null && { retiredAt }),
  });
}

export interface HostFilter {
  readonly service?: string;
  /**
   * Only hosts with any of these roles of `service`; ignored without `service`.
   *
   * @default all
   */
  readonly role?: readonly string[];
  readonly name?: string;
  /**
   * Only hosts with any of these statuses.
   *
   * @default working, standby
   */
  readonly status?: readonly HostStatus[];
}

export interface HostPage {
  /** The hosts as JSON: sorted by id if there is a limit, otherwise by name. */
  readonly json: readonly string[];
  /** Id of the last host on the page, after which the next page starts; undefined on the last page. */
  readonly nextId: string | undefined;
}

/**
 * Lists the hosts that a filter selects.
 *
 * @param candidates sorted by id
 * @param limit maximum number of hosts on the page; undefined for all
 * @throws {RefusedError} when the JSON exceeds `maxCharacters`
 */
export async function listHosts(
  candidates: AsyncIterable<Host> | Iterable<Host>,
  services: readonly Service[],
  filter: HostFilter,
  limit: number | undefined,
  maxCharacters: number,
): Promise<HostPage> {
  const view = hostViews(services);
  const listed: { readonly id: string; readonly name: string; readonly json: string }[] = [];
  let characters = 0;
  for await (const candidate of candidates) {
    const host = view(candidate);
    if (!selects(filter, host)) continue;
    if (listed.length === limit) return { json: listed.map(({ json }) => json), nextId: listed.at(-1)!.id };
    const json = JSON.stringify(host);
    characters += json.length;
    if (characters > maxCharacters)
      throw new RefusedError(
        `the hosts have more than ${maxCharacters} characters; read them in pages with limit=`,
        true,
      );
    listed.push({ id: host.id, name: host.name, json });
  }
  if (limit === undefined) listed.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return { json: listed.map(({ json }) => json), nextId: undefined };
}

function selects(
  { service, role = [], name, status = ['working', 'standby'] }: HostFilter,
  host: HostView,
): boolean {
  if (!status.includes(host.status) || (name !== undefined && host.name !== name)) return false;
  if (service === undefined) return true;
  // Look at own properties only: a service may be called `constructor`.
  const roles = Object.hasOwn(host.roles, service) ? host.roles[service]! : [];
  return roles.length > 0 && (role.length === 0 || role.some((each) => roles.includes(each)));
}
