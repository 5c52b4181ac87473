import * as z from 'zod';
import { epochSeconds, text } from '../../platform/fields';
import type { Route } from './route';
import { success } from './values';

const checkReport = z.object({
  source: z.object({ type: z.literal('host'), hostId: z.string() }),
  name: text(1, 255),
  status: z.enum(['OK', 'CRITICAL', 'WARNING', 'UNKNOWN']),
  message: text(0, 1024).nullish(),
  occurredAt: epochSeconds,
  notificationInterval: z.number().nullish(),
  maxCheckAttempts: z.number().nullish(),
});

export const checkReports = z.object({ reports: z.array(checkReport).max(100).nullable() });

/** Lists of Mackerel's that are always empty here, so that clients which ask for them go on. */
export const EMPTY_LISTS = [
  { path: '/api/v0/alerts', field: 'alerts' },
  { path: '/api/v0/users', field: 'users' },
  { path: '/api/v0/invitations', field: 'invitations' },
  { path: '/api/v0/aws-integrations', field: 'aws_integrations' },
] as const;

export const monitoringRoutes = [
  {
    method: 'POST',
    path: '/api/v0/monitoring/checks/report',
    right: 'write',
    function: 'registry',
    summary: 'Report checks: accepted, so that agents go on, but not stored',
    body: checkReports,
    answer: success,
  },
  ...EMPTY_LISTS.map(emptyListRoute),
] as const satisfies readonly Route[];

function emptyListRoute<const Path extends string>({ path, field }: { path: Path; field: string }) {
  return {
    method: 'GET',
    path,
    right: 'read',
    function: 'registry',
    summary: `List ${field}: always empty`,
    answer: z.object({ [field]: z.array(z.never()) }),
  } as const;
}
