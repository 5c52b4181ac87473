import type { RoleFullname } from '../../shared/http/contract/hosts';
import type { RouteHandlers, RouteRequest } from '../../shared/http/handler';
import { HttpError, MAX_ANSWER, reply, replyText } from '../../shared/http/http';
import type { RoutesByKey } from '../../shared/http/routes';
import { mapLimited } from '../../shared/platform/concurrency';
import { type Host, HostRetiredError } from '../../shared/registry/hosts';
import { rolesByService, TooManyRolesError } from '../../shared/registry/services';
import type { Tenant } from '../../shared/tenancy/tenants';
import { active, existing, hosts, requireHost, services } from './stores';

const MAX_HOST_BYTES = 256 * 1024;
/** Calls to the store side by side for one request. */
const LANES = 16;

export const hostHandlers: RouteHandlers = {
  'POST /api/v0/hosts': async ({ tenant, body }) => {
    checkSize(body.spec);
    const host = await hosts.create(tenant.id, body.spec, await ensureRoles(tenant, body.roles));
    return reply(200, { id: host.id });
  },

  'GET /api/v0/hosts': listHosts,
  'GET /api/v0/hosts.json': listHosts,

  'GET /api/v0/hosts/{hostId}': async ({ tenant, path }) => {
    const host = await requireHost(tenant, path.hostId);
    return reply(200, { host: (await viewOf(tenant))(host) });
  },

  'PUT /api/v0/hosts/{hostId}': async ({ tenant, path: { hostId }, body: { spec, roles } }) => {
    checkSize(spec);
    // Before its roles are made: nothing comes of a request for a host that is not there.
    active(await requireHost(tenant, hostId));
    const roleIds = await ensureRoles(tenant, roles);
    await hosts.indexIdentifier(tenant.id, hostId, spec.customIdentifier);
    // Roles that are not listed are kept (../shared/mackerel-api.md, 4.4).
    return changed(tenant, hostId, (host) => ({
      ...host,
      ...spec,
      roleIds: [...new Set([...host.roleIds, ...roleIds])],
    })).then(() => reply(200, { id: hostId }));
  },

  'POST /api/v0/hosts/{hostId}/status': async ({ tenant, path, body }) => {
    await changed(tenant, path.hostId, (host) => ({ ...host, status: body.status }));
    return reply(200, { success: true });
  },

  'PUT /api/v0/hosts/{hostId}/role-fullnames': async ({ tenant, path, body }) => {
    active(await requireHost(tenant, path.hostId));
    const roleIds = await ensureRoles(tenant, body.roleFullnames);
    await changed(tenant, path.hostId, (host) => ({ ...host, roleIds }));
    return reply(200, { success: true });
  },

  'POST /api/v0/hosts/{hostId}/retire': async ({ tenant, path }) => {
    existing('host', path.hostId, (await hosts.retire(tenant.id, path.hostId)) || undefined);
    return reply(200, { success: true });
  },

  'POST /api/v0/hosts/bulk-update-statuses': async ({ tenant, body: { ids, status } }) => {
    await mapLimited(ids, LANES, async (id) => active(await requireHost(tenant, id)));
    await mapLimited(ids, LANES, (id) => changed(tenant, id, (host) => ({ ...host, status })));
    return reply(200, { success: true });
  },

  'POST /api/v0/hosts/bulk-retire': async ({ tenant, body: { ids } }) => {
    await mapLimited(ids, LANES, (id) => requireHost(tenant, id));
    await mapLimited(ids, LANES, (id) => hosts.retire(tenant.id, id));
    return reply(200, { success: true });
  },

  'GET /api/v0/hosts/{hostId}/monitored-statuses': async ({ tenant, path }) => {
    await requireHost(tenant, path.hostId);
    return reply(200, { monitoredStatuses: [] });
  },

  'GET /api/v0/hosts-by-custom-identifier/{customIdentifier}': async ({ tenant, path, query }) => {
    const identifier = path.customIdentifier;
    const [host] = await hosts.withIdentifier(tenant.id, identifier, query.caseInsensitive === 'true');
    const found = existing('host with the custom identifier', identifier, host);
    return reply(200, { host: (await viewOf(tenant))(found) });
  },
};

async function changed(tenant: Tenant, hostId: string, change: (host: Host) => Host): Promise<Host> {
  try {
    return existing('host', hostId, await hosts.change(tenant.id, hostId, change));
  } catch (error) {
    if (error instanceof HostRetiredError) throw new HttpError(400, error.message);
    throw error;
  }
}

/** Services and roles that a host is put into come into being with it. @returns the roles' ids */
async function ensureRoles(tenant: Tenant, roles: readonly RoleFullname[]): Promise<string[]> {
  const byService = new Map<string, Set<string>>();
  for (const { service, role } of roles)
    byService.set(service, (byService.get(service) ?? new Set()).add(role));
  try {
    const ids = await mapLimited([...byService], LANES, ([service, names]) =>
      services.ensure(tenant.id, service, [...names]),
    );
    return ids.flat();
  } catch (error) {
    if (error instanceof TooManyRolesError) throw new HttpError(400, `roleFullnames: ${error.message}`);
    throw error;
  }
}

/** @throws {HttpError} 413 when a host would not fit an item */
function checkSize(spec: object): void {
  const bytes = Buffer.byteLength(JSON.stringify(spec));
  if (bytes > MAX_HOST_BYTES)
    throw new HttpError(413, `the host has ${bytes} bytes, ${MAX_HOST_BYTES} at most`);
}

/** A host as clients see it. @see ../shared/mackerel-api.md, 4.1 */
async function viewOf(tenant: Tenant) {
  const rolesOf = rolesByService(await services.list(tenant.id));
  return ({ roleIds, retiredAt, ...host }: Host) => ({
    ...host,
    type: 'unknown',
    size: 'standard',
    roles: rolesOf(roleIds),
    isRetired: retiredAt !== null,
    ...(retiredAt !== null && { retiredAt }),
  });
}

/** @see ../shared/mackerel-api.md, 4.5 */
async function listHosts({ tenant, query }: Pick<ListRequest, 'tenant' | 'query'>) {
  const { service, role: roles = [], name, status: statuses = ['working', 'standby'] } = query;
  const { customIdentifier: identifier, limit, nextId } = query;
  const view = await viewOf(tenant);
  const listed: { readonly id: string; readonly name: string; readonly json: string }[] = [];
  let characters = 0;
  let next: string | undefined;
  const candidates =
    identifier === undefined
      ? hosts.list(tenant.id, nextId)
      : (await hosts.withIdentifier(tenant.id, identifier)).filter(({ id }) => id > (nextId ?? ''));
  for await (const candidate of candidates) {
    if (!statuses.includes(candidate.status) || (name !== undefined && candidate.name !== name)) continue;
    const host = view(candidate);
    if (service !== undefined) {
      // A service may be called `constructor`.
      if (!Object.hasOwn(host.roles, service)) continue;
      if (roles.length > 0 && !roles.some((role) => host.roles[service]!.includes(role))) continue;
    }
    if (listed.length === limit) {
      next = listed.at(-1)!.id;
      break;
    }
    const json = JSON.stringify(host);
    characters += json.length;
    if (characters > MAX_ANSWER)
      throw new HttpError(413, `the hosts have more than ${MAX_ANSWER} characters; ask for pages by limit=`);
    listed.push({ id: host.id, name: host.name, json });
  }
  if (limit === undefined) listed.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const rest = next === undefined ? '' : `,"nextId":${JSON.stringify(next)}`;
  return replyText(200, `{"hosts":[${listed.map(({ json }) => json).join(',')}]${rest}}`);
}

type ListRequest = RouteRequest<RoutesByKey['GET /api/v0/hosts']>;
