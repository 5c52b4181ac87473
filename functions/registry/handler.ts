import { httpHandler } from '../../shared/api/handler';
import { checkedSize, parseHostBody } from '../../shared/api/host-body';
import { HttpError, jsonBody, pathParameter, queryOf, reply } from '../../shared/api/http';
import { metaTable } from '../../shared/environment';
import { ApiKeys } from '../../shared/meta/api-keys';
import { type Host, Hosts } from '../../shared/meta/hosts';
import { Services } from '../../shared/meta/services';
import { Tenants } from '../../shared/meta/tenants';

const table = metaTable();
const hosts = new Hosts(table);
const services = new Services(table);

export const handler = httpHandler(
  { keys: new ApiKeys(table), tenants: new Tenants(table) },
  {
    'POST /api/v0/hosts': async ({ event, tenant }) => {
      const spec = parseHostBody(jsonBody(event));
      await createServices(tenant.id, Object.keys(spec.roles));
      const host = await hosts.create(tenant.id, spec);
      return reply(200, { id: host.id });
    },

    'GET /api/v0/hosts': async ({ event, tenant }) => {
      const query = queryOf(event);
      const listed = await hosts.list(tenant.id);
      return reply(200, { hosts: listed.filter(hostFilter(query)) });
    },

    'GET /api/v0/hosts/{hostId}': async ({ event, tenant }) => {
      const hostId = pathParameter(event, 'hostId');
      const host = await hosts.get(tenant.id, hostId);
      if (host === undefined) throw noHost(hostId);
      return reply(200, { host });
    },

    'PUT /api/v0/hosts/{hostId}': async ({ event, tenant }) => {
      const hostId = pathParameter(event, 'hostId');
      const spec = parseHostBody(jsonBody(event));
      await createServices(tenant.id, Object.keys(spec.roles));
      const host = await hosts.change(tenant.id, hostId, (old) =>
        checkedSize({ ...old, ...spec, roles: unionOfRoles(old.roles, spec.roles) }),
      );
      if (host === undefined) throw noHost(hostId);
      return reply(200, { id: host.id });
    },
  },
);

/** Services that roles mention come into being with them. */
async function createServices(tenantId: string, names: readonly string[]): Promise<void> {
  for (const name of names) await services.create(tenantId, name);
}

/** Roles that an update does not list are kept. @see ../shared/mackerel-api.md, 4.4 */
function unionOfRoles(a: Host['roles'], b: Host['roles']): Host['roles'] {
  const services = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
  return Object.fromEntries(
    services.map((service) => [
      service,
      [...new Set([...rolesIn(a, service), ...rolesIn(b, service)])].sort(),
    ]),
  );
}

/** A service may be called `constructor`. */
function rolesIn(roles: Host['roles'], service: string): readonly string[] {
  return Object.hasOwn(roles, service) ? roles[service]! : [];
}

function noHost(hostId: string): HttpError {
  return new HttpError(404, `there is no host ${JSON.stringify(hostId.slice(0, 100))}`);
}

/** @see ../shared/mackerel-api.md, 4.5 */
function hostFilter(query: URLSearchParams): (host: Host) => boolean {
  const service = query.get('service');
  const roles = query.getAll('role');
  const name = query.get('name');
  const customIdentifier = query.get('customIdentifier');
  const statuses = query.has('status') ? query.getAll('status') : ['working', 'standby'];
  return (host) =>
    statuses.includes(host.status) &&
    (name === null || host.name === name) &&
    (customIdentifier === null || host.customIdentifier === customIdentifier) &&
    (service === null ||
      (Object.hasOwn(host.roles, service) &&
        (roles.length === 0 || roles.some((role) => host.roles[service]!.includes(role)))));
}
