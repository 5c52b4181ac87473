import type { RouteHandlers } from '../../shared/http/handler';
import { found, HttpError, reply } from '../../shared/http/http';
import { TakenPathError } from '../../shared/registry/dashboards';
import { dashboards } from './stores';

/** Mackerel's custom dashboards. */
export const dashboardHandlers: RouteHandlers = {
  'GET /api/v0/dashboards': async ({ tenant }) =>
    reply(200, { dashboards: await dashboards.list(tenant.id) }),

  'POST /api/v0/dashboards': async ({ tenant, body }) =>
    reply(200, await conflicting(dashboards.create(tenant.id, body))),

  'GET /api/v0/dashboards/{dashboardId}': async ({ tenant, path: { dashboardId } }) =>
    reply(200, found('dashboard', dashboardId, await dashboards.get(tenant.id, dashboardId))),

  'PUT /api/v0/dashboards/{dashboardId}': async ({ tenant, path: { dashboardId }, body }) => {
    const replaced = await conflicting(dashboards.replace(tenant.id, dashboardId, body));
    return reply(200, found('dashboard', dashboardId, replaced));
  },

  'DELETE /api/v0/dashboards/{dashboardId}': async ({ tenant, path: { dashboardId } }) =>
    reply(200, found('dashboard', dashboardId, await dashboards.remove(tenant.id, dashboardId))),
};

async function conflicting<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof TakenPathError) throw new HttpError(409, error.message);
    throw error;
  }
}
