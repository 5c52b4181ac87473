import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply, requireFound } from '../../shared/http/http';
import { mapLimited } from '../../shared/platform/concurrency';
import { annotationsWithin } from '../../shared/registry/graph-annotations';
import { annotations, graphDefinitions, requireService } from './stores';

/** Number of definitions that are written at the same time. */
const PARALLEL = 16;

export const graphHandlers: RouteHandlers = {
  'POST /api/v0/graph-defs/create': async ({ tenant, body }) => {
    // If several definitions have the same name, the last one counts.
    const byName = new Map(body.map((definition) => [definition.name, definition]));
    await mapLimited([...byName.values()], PARALLEL, (definition) =>
      graphDefinitions.put(tenant.id, definition),
    );
    return reply(200, { success: true });
  },

  'GET /api/v1/graph-definitions': async ({ tenant }) =>
    reply(200, { graphDefinitions: await graphDefinitions.list(tenant.id) }),

  // For an unknown name, Mackerel answers 400 here instead of 404.
  'DELETE /api/v0/graph-defs': async ({ tenant, body: { name } }) => {
    if ((await graphDefinitions.remove(tenant.id, name)) === undefined)
      throw new HttpError(400, `name: there is no graph ${JSON.stringify(name.slice(0, 100))}`);
    return reply(200, { success: true });
  },

  // The API has no call that defines graphs of a service's metrics, so there is never a definition to delete.
  'DELETE /api/v0/services/{serviceName}/graph-defs/{graphName}': async ({ tenant, path }) => {
    await requireService(tenant, path.serviceName);
    return reply(200, requireFound('graph', path.graphName, undefined));
  },

  'POST /api/v0/graph-annotations': async ({ tenant, body }) => {
    await requireService(tenant, body.service);
    return reply(200, await annotations.create(tenant.id, body));
  },

  'GET /api/v0/graph-annotations': async ({ tenant, query: { service, from, to } }) => {
    if (from > to) throw new HttpError(400, `from ${from} is after to ${to}`);
    await requireService(tenant, service);
    const all = await annotations.list(tenant.id);
    return reply(200, { graphAnnotations: annotationsWithin(all, service, from, to) });
  },

  'PUT /api/v0/graph-annotations/{annotationId}': async ({ tenant, path: { annotationId }, body }) => {
    await requireService(tenant, body.service);
    const replaced = await annotations.change(tenant.id, annotationId, ({ id }) => ({ id, ...body }));
    return reply(200, requireFound('annotation', annotationId, replaced));
  },

  'DELETE /api/v0/graph-annotations/{annotationId}': async ({ tenant, path: { annotationId } }) => {
    const removed = await annotations.remove(tenant.id, annotationId);
    return reply(200, requireFound('annotation', annotationId, removed));
  },
};
