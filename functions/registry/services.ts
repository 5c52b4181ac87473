import { streamClient } from '../../shared/compose/aws-clients';
import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply, requireFound } from '../../shared/http/http';
import { ALL_NAMES, ALL_TIME } from '../../shared/model/deletion';
import { sourceOf } from '../../shared/model/labels';
import { variable } from '../../shared/platform/environment';
import { ENV } from '../../shared/platform/names';
import type { Service } from '../../shared/registry/services';
import { deletionRecords } from '../../shared/stream/deletion-records';
import { putRecords } from '../../shared/stream/put';
import type { Tenant } from '../../shared/tenancy/tenants';
import { metadata, requireService, services } from './stores';

const stream = variable(ENV.stream);
const kinesis = streamClient();

export const serviceHandlers: RouteHandlers = {
  'GET /api/v0/services': async ({ tenant }) =>
    reply(200, { services: (await services.list(tenant.id)).map(viewOf) }),

  'POST /api/v0/services': async ({ tenant, body: { name, memo } }) => {
    const service = await services.create(tenant.id, name, memo ?? '');
    if (service === undefined)
      throw new HttpError(400, `name: the service ${JSON.stringify(name)} exists already`);
    return reply(200, viewOf(service));
  },

  'DELETE /api/v0/services/{serviceName}': async ({ tenant, path: { serviceName } }) => {
    // Delete the samples first. If this fails, the service still exists, and the client can retry.
    await requireService(tenant, serviceName);
    await deleteSamples(tenant, serviceName);
    const service = requireFound('service', serviceName, await services.remove(tenant.id, serviceName));
    // If the function crashes here, metadata remains that nobody can reach: ids of services and roles are never used
    // again.
    for (const { id } of [service, ...service.roles]) await metadata.removeOwner(tenant.id, id);
    return reply(200, viewOf(service));
  },

  'GET /api/v0/services/{serviceName}/roles': async ({ tenant, path }) => {
    const { roles } = await requireService(tenant, path.serviceName);
    return reply(200, { roles: roles.map(({ name, memo }) => ({ name, memo })) });
  },

  'POST /api/v0/services/{serviceName}/roles': async ({ tenant, path: { serviceName }, body }) => {
    const { name, memo } = body;
    const added = await services.addRole(tenant.id, serviceName, { name, memo: memo ?? '' });
    const role = requireFound('service', serviceName, added);
    if (role === 'exists') throw new HttpError(400, `name: the role ${JSON.stringify(name)} exists already`);
    return reply(200, { name: role.name, memo: role.memo });
  },

  'DELETE /api/v0/services/{serviceName}/roles/{roleName}': async ({ tenant, path }) => {
    const { serviceName, roleName } = path;
    const removed = await services.removeRole(tenant.id, serviceName, roleName);
    const role = requireFound('role', `${serviceName}:${roleName}`, removed);
    await metadata.removeOwner(tenant.id, role.id);
    return reply(200, { name: role.name, memo: role.memo });
  },

  'GET /api/v0/org': async ({ tenant }) => reply(200, { name: tenant.name, displayName: null }),
};

/** Deletes all samples of a service, so that a later service with the same name begins without samples. */
async function deleteSamples(tenant: Tenant, serviceName: string): Promise<void> {
  const deletion = { selector: ALL_NAMES, ...ALL_TIME };
  const records = deletionRecords(tenant, sourceOf.service(serviceName), deletion);
  await putRecords(kinesis, stream, records);
}

function viewOf({ name, memo, roles }: Service) {
  return { name, memo, roles: roles.map((role) => role.name) };
}
