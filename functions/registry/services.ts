import { KinesisClient } from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply } from '../../shared/http/http';
import { ALL_NAMES, ALL_TIME } from '../../shared/model/deletion';
import { FORMATS } from '../../shared/model/formats';
import { sourceOf } from '../../shared/model/labels';
import { formatToWrite, settings, variable } from '../../shared/platform/environment';
import { ENV } from '../../shared/platform/names';
import { type Service, TooManyRolesError } from '../../shared/registry/services';
import { deletionRecords } from '../../shared/stream/deletion-records';
import { putRecords } from '../../shared/stream/put';
import type { Tenant } from '../../shared/tenancy/tenants';
import { existing, metadata, requireService, services } from './stores';

const recordFormat = formatToWrite(FORMATS.record.writes, settings().recordFormat);
const stream = variable(ENV.stream);
const kinesis = new KinesisClient({ maxAttempts: 3, requestHandler: new NodeHttpHandler() });

export const serviceHandlers: RouteHandlers = {
  'GET /api/v0/services': async ({ tenant }) =>
    reply(200, { services: (await services.list(tenant.id)).map(viewOf) }),

  'POST /api/v0/services': async ({ tenant, body: { name, memo } }) => {
    const service = await services.create(tenant.id, name, memo ?? '');
    if (service === undefined) throw new HttpError(400, `name: there is a service ${JSON.stringify(name)}`);
    return reply(200, viewOf(service));
  },

  'DELETE /api/v0/services/{serviceName}': async ({ tenant, path: { serviceName } }) => {
    // First, so that what fails here is done when the call comes again; the service itself says whether it was done.
    await requireService(tenant, serviceName);
    await eraseMetrics(tenant, serviceName);
    const service = existing('service', serviceName, await services.remove(tenant.id, serviceName));
    await eraseService(tenant, service);
    return reply(200, viewOf(service));
  },

  'GET /api/v0/services/{serviceName}/roles': async ({ tenant, path }) => {
    const { roles } = await requireService(tenant, path.serviceName);
    return reply(200, { roles: roles.map(({ name, memo }) => ({ name, memo })) });
  },

  'POST /api/v0/services/{serviceName}/roles': async ({ tenant, path: { serviceName }, body }) => {
    const { name, memo } = body;
    const added = await services
      .addRole(tenant.id, serviceName, { name, memo: memo ?? '' })
      .catch((error: Error) => {
        throw error instanceof TooManyRolesError ? new HttpError(400, error.message) : error;
      });
    const role = existing('service', serviceName, added);
    if (role === 'exists')
      throw new HttpError(400, `name: the service has a role ${JSON.stringify(name)} already`);
    return reply(200, { name: role.name, memo: role.memo });
  },

  'DELETE /api/v0/services/{serviceName}/roles/{roleName}': async ({ tenant, path }) => {
    const { serviceName, roleName } = path;
    const removed = await services.removeRole(tenant.id, serviceName, roleName);
    const role = existing('role', `${serviceName}:${roleName}`, removed);
    await metadata.removeOwner(tenant.id, role.id);
    return reply(200, { name: role.name, memo: role.memo });
  },

  'GET /api/v0/org': async ({ tenant }) => reply(200, { name: tenant.name, displayName: null }),

  // Graphs of a service's metrics are not defined by any call, so none is there to be deleted.
  'DELETE /api/v0/services/{serviceName}/graph-defs/{graphName}': async ({ tenant, path }) => {
    await requireService(tenant, path.serviceName);
    throw new HttpError(404, `there is no graph ${JSON.stringify(path.graphName.slice(0, 100))}`);
  },
};

/**
 * What goes with a service that is no more. What a crash leaves of it nobody can reach: hosts and metadata refer to
 * the ids of services and roles, which never come back.
 */
async function eraseService(tenant: Tenant, { id, roles }: Service): Promise<void> {
  for (const ownerId of [id, ...roles.map((role) => role.id)]) await metadata.removeOwner(tenant.id, ownerId);
}

/** Deletes what the service has posted until now, so that one of that name made later begins without. */
async function eraseMetrics(tenant: Tenant, serviceName: string): Promise<void> {
  const deletion = { selector: ALL_NAMES, ...ALL_TIME };
  await putRecords(
    kinesis,
    stream,
    deletionRecords(tenant, sourceOf.service(serviceName), deletion, recordFormat),
  );
}

function viewOf({ name, memo, roles }: Service) {
  return { name, memo, roles: roles.map((role) => role.name) };
}
