import * as z from 'zod';
import { ALERT_STATUSES, TRIGGERS } from '../../monitors/alert-record';
import { MONITOR_TYPES } from '../../monitors/monitor';
import { text } from '../../platform/fields';
import type { Route } from './route';
import { booleanParameter, integerParameter, success } from './values';

/** Default and maximum number of entries on a page. */
const MAX_PAGE = 100;

const MAX_REASON = 2_048;
const MAX_REPORTS = 100;

const page = {
  // mkr sends an empty `nextId` when it requests the first page.
  nextId: z
    .string()
    .max(255)
    .transform((id) => (id === '' ? undefined : id))
    .optional()
    .meta({ description: 'The `nextId` of the previous page.' }),
  limit: integerParameter
    .pipe(z.number().min(1).max(MAX_PAGE))
    .default(MAX_PAGE)
    .meta({ type: 'integer', minimum: 1, maximum: MAX_PAGE }),
};

const status = z.enum(ALERT_STATUSES);

const alert = z
  .object({
    id: z.string(),
    status,
    monitorId: z.string(),
    type: z.enum([...MONITOR_TYPES, 'check']),
    hostId: z.string().optional(),
    series: z.object({ name: z.string(), labels: z.record(z.string(), z.string()) }).optional(),
    value: z.number().optional(),
    message: z.string().optional(),
    reason: z.string().optional(),
    memo: z.string().optional(),
    openedAt: z.int(),
    closedAt: z.int().optional(),
  })
  .meta({ id: 'Alert' });

const log = z.object({
  id: z.string(),
  createdAt: z.int(),
  status,
  trigger: z.enum(TRIGGERS),
  monitorId: z.string(),
  targetValue: z.number().nullable(),
  statusDetail: z
    .object({ type: z.literal('check'), detail: z.object({ message: z.string(), memo: z.string() }) })
    .nullable(),
});

const check = z.object({ id: z.string(), name: z.string() }).meta({ id: 'Check' });

const ALERT = '/api/v0/alerts/{alertId}';
const reading = { method: 'GET', right: 'read', function: 'registry' } as const;

/** Alerts of Mackerel's monitors and checks, and the reports of checks. */
export const alertRoutes = [
  {
    ...reading,
    path: '/api/v0/alerts',
    summary: 'List the alerts of monitors and checks, most recently opened first',
    query: z.object({
      ...page,
      withClosed: booleanParameter(false).meta({
        description: 'Whether to include closed alerts.',
      }),
    }),
    response: z.object({ alerts: z.array(alert), nextId: z.string().optional() }),
  },
  { ...reading, path: ALERT, summary: 'Read an alert', response: alert },
  {
    method: 'PUT',
    path: ALERT,
    right: 'write',
    function: 'registry',
    summary: 'Set the memo of an alert',
    // The schema sets no bound, because the handler answers 413 if the memo is too large.
    body: z.object({ memo: z.string().nullish() }),
    response: z.object({ id: z.string(), memo: z.string() }),
  },
  {
    method: 'POST',
    path: `${ALERT}/close`,
    right: 'write',
    function: 'registry',
    summary: 'Close an alert; if its cause persists, the next evaluation opens a new one',
    body: z.object({ reason: text(0, MAX_REASON) }),
    response: alert,
  },
  {
    ...reading,
    path: `${ALERT}/logs`,
    summary: 'List the log of an alert, newest entry first',
    query: z.object(page),
    response: z.object({ logs: z.array(log), nextId: z.string().optional() }),
  },
  {
    method: 'POST',
    path: '/api/v0/monitoring/checks/report',
    right: 'write',
    function: 'registry',
    summary: 'Report check results; invalid reports are dropped, the others are stored',
    body: z.object({ reports: z.array(z.unknown()).max(MAX_REPORTS).nullable() }),
    response: success,
  },
  {
    ...reading,
    path: '/api/v0/monitoring/checks',
    summary: 'List the checks that agents reported; `nextId` is the first check of the next page',
    query: z.object(page),
    response: z.object({ checks: z.array(check), nextId: z.string().optional() }),
  },
  {
    ...reading,
    path: '/api/v0/monitoring/checks/{checkId}',
    summary: 'Read a check',
    response: z.object({ check }),
  },
] as const satisfies readonly Route[];
