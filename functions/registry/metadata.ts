import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { RouteHandlers } from '../../shared/http/handler';
import { bodyText, HttpError, reply, replyText } from '../../shared/http/http';
import { TooManyNamespacesError } from '../../shared/registry/metadata';
import type { Tenant } from '../../shared/tenancy/tenants';
import { active, existing, metadata, requireHost, requireService } from './stores';

/** What metadata belongs to. */
interface Owner {
  readonly id: string;
  readonly maxNamespaces: number;
}

const MAX_BYTES = 100 * 1024;
const NAMESPACE = /^[-a-zA-Z0-9_]{1,128}$/;

export const metadataHandlers: RouteHandlers = {
  'GET /api/v0/hosts/{hostId}/metadata': async ({ tenant, path }) =>
    list(tenant, await hostOwner(tenant, path)),
  'GET /api/v0/hosts/{hostId}/metadata/{namespace}': async ({ tenant, path }) =>
    get(tenant, await hostOwner(tenant, path), path.namespace),
  'PUT /api/v0/hosts/{hostId}/metadata/{namespace}': async ({ tenant, path, event }) => {
    active(await requireHost(tenant, path.hostId));
    return put(tenant, await hostOwner(tenant, path), path.namespace, event);
  },
  'DELETE /api/v0/hosts/{hostId}/metadata/{namespace}': async ({ tenant, path }) =>
    remove(tenant, await hostOwner(tenant, path), path.namespace),

  'GET /api/v0/services/{serviceName}/metadata': async ({ tenant, path }) =>
    list(tenant, await serviceOwner(tenant, path)),
  'GET /api/v0/services/{serviceName}/metadata/{namespace}': async ({ tenant, path }) =>
    get(tenant, await serviceOwner(tenant, path), path.namespace),
  'PUT /api/v0/services/{serviceName}/metadata/{namespace}': async ({ tenant, path, event }) =>
    put(tenant, await serviceOwner(tenant, path), path.namespace, event),
  'DELETE /api/v0/services/{serviceName}/metadata/{namespace}': async ({ tenant, path }) =>
    remove(tenant, await serviceOwner(tenant, path), path.namespace),

  'GET /api/v0/services/{serviceName}/roles/{roleName}/metadata': async ({ tenant, path }) =>
    list(tenant, await roleOwner(tenant, path)),
  'GET /api/v0/services/{serviceName}/roles/{roleName}/metadata/{namespace}': async ({ tenant, path }) =>
    get(tenant, await roleOwner(tenant, path), path.namespace),
  'PUT /api/v0/services/{serviceName}/roles/{roleName}/metadata/{namespace}': async (request) =>
    put(request.tenant, await roleOwner(request.tenant, request.path), request.path.namespace, request.event),
  'DELETE /api/v0/services/{serviceName}/roles/{roleName}/metadata/{namespace}': async ({ tenant, path }) =>
    remove(tenant, await roleOwner(tenant, path), path.namespace),
};

async function hostOwner(tenant: Tenant, { hostId }: { readonly hostId: string }): Promise<Owner> {
  return { id: (await requireHost(tenant, hostId)).id, maxNamespaces: 50 };
}

async function serviceOwner(tenant: Tenant, path: { readonly serviceName: string }): Promise<Owner> {
  return { id: (await requireService(tenant, path.serviceName)).id, maxNamespaces: 50 };
}

async function roleOwner(
  tenant: Tenant,
  { serviceName, roleName }: { readonly serviceName: string; readonly roleName: string },
): Promise<Owner> {
  const { roles } = await requireService(tenant, serviceName);
  const role = roles.find(({ name }) => name === roleName);
  return { id: existing('role', `${serviceName}:${roleName}`, role).id, maxNamespaces: 10 };
}

async function list(tenant: Tenant, owner: Owner) {
  const namespaces = await metadata.list(tenant.id, owner.id);
  return reply(200, { metadata: namespaces.map((namespace) => ({ namespace })) });
}

async function get(tenant: Tenant, owner: Owner, namespace: string) {
  const found = NAMESPACE.test(namespace) ? await metadata.get(tenant.id, owner.id, namespace) : undefined;
  const { json, modifiedAt } = existing('metadata', namespace, found);
  return replyText(200, json, { 'last-modified': new Date(modifiedAt * 1000).toUTCString() });
}

async function put(tenant: Tenant, owner: Owner, namespace: string, event: APIGatewayProxyEventV2) {
  if (!NAMESPACE.test(namespace) || namespace.startsWith('mackerel'))
    throw new HttpError(
      400,
      `namespace: expected ${NAMESPACE.source}, not beginning with mackerel, got ${JSON.stringify(namespace.slice(0, 100))}`,
    );
  // As it came, so that no number changes on its way.
  const json = bodyText(event).trim();
  if (json === '') throw new HttpError(400, 'body is missing');
  const bytes = Buffer.byteLength(json);
  if (bytes > MAX_BYTES) throw new HttpError(413, `the metadata has ${bytes} bytes, ${MAX_BYTES} at most`);
  try {
    await metadata.put(tenant.id, owner.id, namespace, json, owner.maxNamespaces);
  } catch (error) {
    if (error instanceof TooManyNamespacesError) throw new HttpError(400, `namespace: ${error.message}`);
    throw error;
  }
  return reply(200, { success: true });
}

async function remove(tenant: Tenant, owner: Owner, namespace: string) {
  const removed = NAMESPACE.test(namespace) && (await metadata.remove(tenant.id, owner.id, namespace));
  existing('metadata', namespace, removed || undefined);
  return reply(200, { success: true });
}
