import * as z from 'zod';
import type { Route } from './route';

/** Lists in Mackerel's API that are always empty here. Clients fail if the routes of these lists do not exist. */
export const EMPTY_LISTS = [
  { path: '/api/v0/users', field: 'users' },
  { path: '/api/v0/invitations', field: 'invitations' },
  { path: '/api/v0/aws-integrations', field: 'aws_integrations' },
] as const;

export const monitoringRoutes = EMPTY_LISTS.map(emptyListRoute) satisfies readonly Route[];

function emptyListRoute<const Path extends string>({ path, field }: { path: Path; field: string }) {
  return {
    method: 'GET',
    path,
    right: 'read',
    function: 'registry',
    summary: `List ${field}: always empty`,
    response: z.object({ [field]: z.array(z.never()) }),
  } as const;
}
