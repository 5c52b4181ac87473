import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply, requireFound } from '../../shared/http/http';
import type { Dashboard } from '../../shared/registry/dashboard';
import { ChangedMeanwhileError, TakenPathError } from '../../shared/registry/dashboards';
import { dashboards } from './stores';

/** Mackerel's custom dashboards. */
export const dashboardHandlers: RouteHandlers = {
  'GET /api/v0/dashboards': async ({ tenant }) =>
    reply(200, { dashboards: await dashboards.list(tenant.id) }),

  'POST /api/v0/dashboards': async ({ tenant, body }) =>
    reply(200, await withConflictErrors(dashboards.create(tenant.id, body))),

  'GET /api/v0/dashboards/{dashboardId}': async ({ tenant, path: { dashboardId } }) =>
    replyVersion(requireFound('dashboard', dashboardId, await dashboards.get(tenant.id, dashboardId))),

  // With the header `If-Match`, replaces the dashboard only if it is still the version that the client has read.
  'PUT /api/v0/dashboards/{dashboardId}': async ({ tenant, path: { dashboardId }, body, event }) => {
    const expectedAt = expectedVersion(event.headers['if-match']);
    const replaced = await withConflictErrors(dashboards.replace(tenant.id, dashboardId, body, expectedAt));
    return replyVersion(requireFound('dashboard', dashboardId, replaced));
  },

  'DELETE /api/v0/dashboards/{dashboardId}': async ({ tenant, path: { dashboardId } }) =>
    reply(200, requireFound('dashboard', dashboardId, await dashboards.remove(tenant.id, dashboardId))),
};

function replyVersion(dashboard: Dashboard) {
  return reply(200, dashboard, { etag: `"${dashboard.updatedAt}"` });
}

/**
 * Returns the version in the header `If-Match`; undefined if the request may replace any version.
 *
 * @throws {HttpError} 400 if the header is not a version of a dashboard
 */
function expectedVersion(ifMatch: string | undefined): number | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined;
  const [, updatedAt] = /^\s*"(\d{1,15})"\s*$/.exec(ifMatch) ?? [];
  if (updatedAt !== undefined) return Number(updatedAt);
  throw new HttpError(
    400,
    `if-match: expected the etag of a dashboard, got ${JSON.stringify(ifMatch.slice(0, 100))}`,
  );
}

async function withConflictErrors<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof TakenPathError) throw new HttpError(409, error.message);
    if (error instanceof ChangedMeanwhileError) throw new HttpError(412, error.message);
    throw error;
  }
}
