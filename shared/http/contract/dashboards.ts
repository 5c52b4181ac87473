import * as z from 'zod';
import { unixSeconds } from '../../platform/fields';
import { dashboardSpec } from '../../registry/dashboard';
import { crudRoutes } from './crud';
import type { Route } from './route';

const dashboard = z
  .object({ id: z.string(), createdAt: unixSeconds, updatedAt: unixSeconds, ...dashboardSpec.shape })
  .meta({ id: 'Dashboard' });

export const DASHBOARDS = '/api/v0/dashboards';

/** Mackerel's custom dashboards. */
export const dashboardRoutes = [
  ...crudRoutes({
    path: DASHBOARDS,
    parameter: 'dashboardId',
    one: 'a dashboard',
    many: 'dashboards, with their widgets',
    body: dashboardSpec,
    response: dashboard,
    list: z.object({ dashboards: z.array(dashboard) }),
  }),
  {
    method: 'GET',
    path: `${DASHBOARDS}/{dashboardId}`,
    right: 'read',
    function: 'registry',
    summary: 'Read a dashboard',
    response: dashboard,
  },
] as const satisfies readonly Route[];
