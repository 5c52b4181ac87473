import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply } from '../../shared/http/http';
import { mapLimited } from '../../shared/platform/concurrency';
import { annotations, existing, graphDefinitions, requireService } from './stores';

/** Definitions that are put side by side for one request. */
const LANES = 16;

export const graphHandlers: RouteHandlers = {
  'POST /api/v0/graph-defs/create': async ({ tenant, body }) => {
    // The last of a name wins.
    const byName = new Map(body.map((definition) => [definition.name, definition]));
    await mapLimited([...byName.values()], LANES, (definition) =>
      graphDefinitions.put(tenant.id, definition),
    );
    return reply(200, { success: true });
  },

  'GET /api/v1/graph-definitions': async ({ tenant }) =>
    reply(200, { graphDefinitions: await graphDefinitions.list(tenant.id) }),

  'DELETE /api/v0/graph-defs': async ({ tenant, body: { name } }) => {
    if ((await graphDefinitions.remove(tenant.id, name)) === undefined)
      throw new HttpError(400, `name: there is no graph ${JSON.stringify(name.slice(0, 100))}`);
    return reply(200, { success: true });
  },

  'POST /api/v0/graph-annotations': async ({ tenant, body }) => {
    await requireService(tenant, body.service);
    return reply(200, await annotations.create(tenant.id, body));
  },

  'GET /api/v0/graph-annotations': async ({ tenant, query: { service, from, to } }) => {
    if (from > to) throw new HttpError(400, `from ${from} is after to ${to}`);
    await requireService(tenant, service);
    return reply(200, { graphAnnotations: await annotations.find(tenant.id, service, from, to) });
  },

  'PUT /api/v0/graph-annotations/{annotationId}': async ({ tenant, path: { annotationId }, body }) => {
    await requireService(tenant, body.service);
    const replaced = await annotations.replace(tenant.id, annotationId, body);
    return reply(200, existing('annotation', annotationId, replaced));
  },

  'DELETE /api/v0/graph-annotations/{annotationId}': async ({ tenant, path: { annotationId } }) => {
    const removed = await annotations.remove(tenant.id, annotationId);
    return reply(200, existing('annotation', annotationId, removed));
  },
};
