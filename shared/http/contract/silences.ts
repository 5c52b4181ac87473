import * as z from 'zod';
import { text } from '../../platform/fields';
import type { Route } from './route';
import { booleanParameter } from './values';

/** Root of Alertmanager's API, as in `amtool --alertmanager.url=https://.../alertmanager`. */
const ALERTMANAGER = '/alertmanager/api/v2';

/**
 * Maximum number of matchers in a silence. Silencing a single alert takes a matcher for each of its labels, and an
 * alert may have dozens of labels.
 */
const MAX_MATCHERS = 100;
const MAX_TEXT = 1_000;

const time = z.iso.datetime({ offset: true, error: 'expected a time such as 2026-11-23T12:00:00Z' });
const matcher = z.object({
  name: text(1, MAX_TEXT),
  value: text(0, MAX_TEXT),
  isRegex: z.boolean(),
  isEqual: z.boolean().default(true),
});
const fields = {
  matchers: z.array(matcher).min(1).max(MAX_MATCHERS),
  startsAt: time,
  endsAt: time,
  createdBy: text(0, MAX_TEXT),
  comment: text(0, MAX_TEXT),
};
const silenceBody = z.object({
  id: z
    .string()
    .nullish()
    .meta({ description: 'Id of the silence to change. If absent or empty, a silence is added.' }),
  ...fields,
});
const silence = z
  .object({
    id: z.uuid(),
    status: z.object({ state: z.enum(['pending', 'active', 'expired']) }),
    updatedAt: time,
    ...fields,
  })
  .meta({ id: 'Silence' });

const filter = z
  .array(z.string().max(2 * MAX_TEXT))
  .max(MAX_MATCHERS)
  .optional();
const silencesQuery = z.object({
  filter: filter.meta({
    description: 'Matchers such as `job="shop"`: only silences whose matchers have such names and values.',
  }),
});
export const alertsQuery = z.object({
  filter: filter.meta({ description: 'Matchers of labels: only alerts that satisfy all.' }),
  active: booleanParameter(true).meta({ description: 'Whether to list alerts that are not silenced.' }),
  silenced: booleanParameter(true).meta({ description: 'Whether to list alerts that are silenced.' }),
});

const labels = z.record(z.string(), z.string());
const alert = z
  .object({
    labels,
    annotations: labels,
    fingerprint: z.string(),
    receivers: z.array(z.object({ name: z.string() })),
    startsAt: time,
    updatedAt: time,
    endsAt: time,
    status: z.object({
      state: z.enum(['active', 'suppressed']),
      silencedBy: z.array(z.string()),
      inhibitedBy: z.array(z.string()),
    }),
  })
  .meta({ id: 'AlertmanagerAlert' });

const common = { function: 'registry', errors: 'alertmanager' } as const;
const reading = { ...common, method: 'GET', right: 'read' } as const;

/** Routes of silences, and the other Alertmanager routes that amtool and Grafana call. */
export const silenceRoutes = [
  {
    ...reading,
    path: `${ALERTMANAGER}/status`,
    summary: 'Read the status, as an Alertmanager without a cluster reports it',
    response: z.object({
      cluster: z.object({ status: z.literal('disabled'), peers: z.array(z.unknown()) }),
      versionInfo: labels,
      config: z.object({ original: z.string() }),
      uptime: time,
    }),
  },
  {
    ...reading,
    path: `${ALERTMANAGER}/alerts`,
    summary: 'List firing alerts, with the silences that apply to them',
    query: alertsQuery,
    response: z.array(alert),
  },
  {
    ...reading,
    path: `${ALERTMANAGER}/silences`,
    summary: 'List silences; expired ones remain listed for five days',
    query: silencesQuery,
    response: z.array(silence),
  },
  {
    ...common,
    method: 'POST',
    path: `${ALERTMANAGER}/silences`,
    right: 'write',
    summary:
      'Add or change a silence; while it is active, alerts that satisfy its matchers are not sent to webhooks',
    body: silenceBody,
    response: z.object({ silenceID: z.uuid() }),
  },
  {
    ...reading,
    path: `${ALERTMANAGER}/silence/{silenceId}`,
    summary: 'Read a silence',
    response: silence,
  },
  {
    ...common,
    method: 'DELETE',
    path: `${ALERTMANAGER}/silence/{silenceId}`,
    right: 'write',
    summary: 'End a silence',
    response: z.object({}),
  },
] as const satisfies readonly Route[];
