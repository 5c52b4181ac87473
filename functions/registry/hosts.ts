import type { RouteHandlers, RouteRequest } from '../../shared/http/handler';
import { MAX_RESPONSE, reply, replyText, requireFound } from '../../shared/http/http';
import { overLimit } from '../../shared/http/metered';
import type { RoutesByKey } from '../../shared/http/routes';
import { mapLimited } from '../../shared/platform/concurrency';
import { hostViews, listHosts } from '../../shared/registry/host-list';
import { type Host, requireActive } from '../../shared/registry/hosts';
import type { Tenant } from '../../shared/tenancy/tenants';
import { alerts, checks, gatekeeper, hosts, registration, requireHost, services } from './stores';

/** Number of hosts that are read or written at the same time. */
const PARALLEL = 16;

export const hostHandlers: RouteHandlers = {
  'POST /api/v0/hosts': async ({ tenant, body: { spec, roles, checks: listed } }) => {
    const limit = gatekeeper.meter.limits(tenant).hosts;
    const host = await registration.register(tenant.id, spec, roles, limit);
    if (host === undefined) throw overLimit('hosts', limit);
    if (listed !== undefined) await checks.setListed(tenant, host.id, listed);
    return reply(200, { id: host.id });
  },

  'GET /api/v0/hosts': list,
  'GET /api/v0/hosts.json': list,

  'GET /api/v0/hosts/{hostId}': async ({ tenant, path }) =>
    view(tenant, await requireHost(tenant, path.hostId)),

  'PUT /api/v0/hosts/{hostId}': async ({
    tenant,
    path: { hostId },
    body: { spec, roles, checks: listed },
  }) => {
    const host = requireFound('host', hostId, await registration.update(tenant.id, hostId, spec, roles));
    if (listed !== undefined) await checks.setListed(tenant, hostId, listed);
    return reply(200, { id: host.id });
  },

  'POST /api/v0/hosts/{hostId}/status': async ({ tenant, path: { hostId }, body: { status } }) => {
    requireFound('host', hostId, await hosts.change(tenant.id, hostId, (host) => ({ ...host, status })));
    return reply(200, { success: true });
  },

  'PUT /api/v0/hosts/{hostId}/role-fullnames': async ({ tenant, path: { hostId }, body }) => {
    requireFound('host', hostId, await registration.setRoles(tenant.id, hostId, body.roleFullnames));
    return reply(200, { success: true });
  },

  'POST /api/v0/hosts/{hostId}/retire': async ({ tenant, path: { hostId } }) => {
    requireFound('host', hostId, (await retire(tenant, hostId)) || undefined);
    return reply(200, { success: true });
  },

  // Check all ids before changing any host, so that a wrong id leaves every host unchanged.
  'POST /api/v0/hosts/bulk-update-statuses': async ({ tenant, body: { ids, status } }) => {
    await mapLimited(ids, PARALLEL, async (id) => requireActive(await requireHost(tenant, id)));
    await mapLimited(ids, PARALLEL, (id) => hosts.change(tenant.id, id, (host) => ({ ...host, status })));
    return reply(200, { success: true });
  },

  'POST /api/v0/hosts/bulk-retire': async ({ tenant, body: { ids } }) => {
    await mapLimited(ids, PARALLEL, (id) => requireHost(tenant, id));
    await mapLimited(ids, PARALLEL, (id) => retire(tenant, id));
    return reply(200, { success: true });
  },

  'GET /api/v0/hosts-by-custom-identifier/{customIdentifier}': async ({ tenant, path, query }) => {
    const identifier = path.customIdentifier;
    const [host] = await hosts.withIdentifier(tenant.id, identifier, query.caseInsensitive === 'true');
    return view(tenant, requireFound('host with the custom identifier', identifier, host));
  },
};

/**
 * Retires a host: removes its checks, and closes their alerts. At its next tick, the evaluator closes the alerts that
 * monitors have opened for the host.
 */
async function retire(tenant: Tenant, hostId: string): Promise<boolean> {
  if (!(await registration.retire(tenant.id, hostId))) return false;
  await alerts.record(tenant.id, await checks.retireHost(tenant, hostId));
  return true;
}

async function view(tenant: Tenant, host: Host) {
  return reply(200, { host: hostViews(await services.list(tenant.id))(host) });
}

async function list({
  tenant,
  query,
}: Pick<RouteRequest<RoutesByKey['GET /api/v0/hosts']>, 'tenant' | 'query'>) {
  const { customIdentifier: identifier, limit, nextId: after, ...filter } = query;
  const candidates =
    identifier === undefined
      ? hosts.list(tenant.id, after)
      : (await hosts.withIdentifier(tenant.id, identifier)).filter(({ id }) => id > (after ?? ''));
  const page = await listHosts(candidates, await services.list(tenant.id), filter, limit, MAX_RESPONSE);
  const rest = page.nextId === undefined ? '' : `,"nextId":${JSON.stringify(page.nextId)}`;
  return replyText(200, `{"hosts":[${page.json.join(',')}]${rest}}`);
}
