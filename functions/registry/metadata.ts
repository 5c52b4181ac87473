import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { RouteHandlers } from '../../shared/http/handler';
import { bodyText, HttpError, reply, replyText, requireFound } from '../../shared/http/http';
import { requireActive } from '../../shared/registry/hosts';
import type { MetadataOwner } from '../../shared/registry/metadata';
import type { Tenant } from '../../shared/tenancy/tenants';
import { metadata, requireHost, requireService } from './stores';

export const metadataHandlers: RouteHandlers = {
  'GET /api/v0/hosts/{hostId}/metadata': async ({ tenant, path }) => list(tenant, await ofHost(tenant, path)),
  'GET /api/v0/hosts/{hostId}/metadata/{namespace}': async ({ tenant, path }) =>
    get(tenant, await ofHost(tenant, path), path.namespace),
  'PUT /api/v0/hosts/{hostId}/metadata/{namespace}': async ({ tenant, path, event }) => {
    const { id } = requireActive(await requireHost(tenant, path.hostId));
    return put(tenant, { id, kind: 'host' }, path.namespace, event);
  },
  'DELETE /api/v0/hosts/{hostId}/metadata/{namespace}': async ({ tenant, path }) =>
    remove(tenant, await ofHost(tenant, path), path.namespace),

  'GET /api/v0/services/{serviceName}/metadata': async ({ tenant, path }) =>
    list(tenant, await ofService(tenant, path)),
  'GET /api/v0/services/{serviceName}/metadata/{namespace}': async ({ tenant, path }) =>
    get(tenant, await ofService(tenant, path), path.namespace),
  'PUT /api/v0/services/{serviceName}/metadata/{namespace}': async ({ tenant, path, event }) =>
    put(tenant, await ofService(tenant, path), path.namespace, event),
  'DELETE /api/v0/services/{serviceName}/metadata/{namespace}': async ({ tenant, path }) =>
    remove(tenant, await ofService(tenant, path), path.namespace),

  'GET /api/v0/services/{serviceName}/roles/{roleName}/metadata': async ({ tenant, path }) =>
    list(tenant, await ofRole(tenant, path)),
  'GET /api/v0/services/{serviceName}/roles/{roleName}/metadata/{namespace}': async ({ tenant, path }) =>
    get(tenant, await ofRole(tenant, path), path.namespace),
  'PUT /api/v0/services/{serviceName}/roles/{roleName}/metadata/{namespace}': async ({
    tenant,
    path,
    event,
  }) => put(tenant, await ofRole(tenant, path), path.namespace, event),
  'DELETE /api/v0/services/{serviceName}/roles/{roleName}/metadata/{namespace}': async ({ tenant, path }) =>
    remove(tenant, await ofRole(tenant, path), path.namespace),
};

async function ofHost(tenant: Tenant, { hostId }: { readonly hostId: string }): Promise<MetadataOwner> {
  return { id: (await requireHost(tenant, hostId)).id, kind: 'host' };
}

async function ofService(
  tenant: Tenant,
  { serviceName }: { readonly serviceName: string },
): Promise<MetadataOwner> {
  return { id: (await requireService(tenant, serviceName)).id, kind: 'service' };
}

async function ofRole(
  tenant: Tenant,
  path: { readonly serviceName: string; readonly roleName: string },
): Promise<MetadataOwner> {
  const { roles } = await requireService(tenant, path.serviceName);
  const role = roles.find(({ name }) => name === path.roleName);
  return { id: requireFound('role', `${path.serviceName}:${path.roleName}`, role).id, kind: 'role' };
}

async function list(tenant: Tenant, owner: MetadataOwner) {
  const namespaces = await metadata.list(tenant.id, owner);
  return reply(200, { metadata: namespaces.map((namespace) => ({ namespace })) });
}

async function get(tenant: Tenant, owner: MetadataOwner, namespace: string) {
  const { json, modifiedAt } = requireFound(
    'metadata',
    namespace,
    await metadata.get(tenant.id, owner, namespace),
  );
  return replyText(200, json, { 'last-modified': new Date(modifiedAt * 1000).toUTCString() });
}

async function put(tenant: Tenant, owner: MetadataOwner, namespace: string, event: APIGatewayProxyEventV2) {
  const json = bodyText(event).trim();
  if (json === '') throw new HttpError(400, 'body is missing');
  await metadata.put(tenant.id, owner, namespace, json);
  return reply(200, { success: true });
}

async function remove(tenant: Tenant, owner: MetadataOwner, namespace: string) {
  requireFound('metadata', namespace, await metadata.remove(tenant.id, owner, namespace));
  return reply(200, { success: true });
}
