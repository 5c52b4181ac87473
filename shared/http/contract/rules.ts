import * as z from 'zod';
import { DAY_MS, parseDuration } from '../../model/duration';
import { MatcherError, parseLabelMatcher } from '../../model/label-matcher';
import { compileMatcher } from '../../model/matcher';
import { InvalidPatternError } from '../../model/value-pattern';
import { PROMETHEUS, PROMETHEUS_ROOT } from './prometheus';
import type { Route } from './route';

/** Root of the ruler's configuration API. The paths below it are Mimir's. */
export const RULER = `${PROMETHEUS_ROOT}/config/v1/rules` as const;

const success = z.object({ status: z.literal('success') });

const selectors = z.array(z.string()).optional().meta({
  description: 'Series selectors: only rules whose configured labels match at least one of them.',
});
const texts = (what: string) =>
  z
    .array(z.string())
    .optional()
    .meta({ description: `Only these ${what}.` });

const listed = z
  .string()
  .regex(/^(true|false|[tTfF10]|TRUE|FALSE|True|False)?$/, 'not a boolean')
  .transform((text) => /^(true|t|1)$/i.test(text))
  .optional();

const RULE_KINDS: ReadonlyMap<string, 'all' | 'alerting' | 'recording'> = new Map([
  ['', 'all'],
  ['alert', 'alerting'],
  ['record', 'recording'],
]);

export const rulesQuery = z.object({
  type: z
    .string()
    .transform((text, context) => {
      const kind = RULE_KINDS.get(text.toLowerCase());
      if (kind !== undefined) return kind;
      context.addIssue({
        code: 'custom',
        message: `not supported value ${JSON.stringify(text.slice(0, 100))}`,
        input: text,
      });
      return z.NEVER;
    })
    .optional()
    .meta({ description: '`alert` or `record`: only rules of this kind.' }),
  'rule_name[]': texts('names of rules'),
  'rule_group[]': texts('groups'),
  'file[]': texts('namespaces'),
  'match[]': selectors,
  exclude_alerts: listed.meta({ description: 'Whether to omit alerts.' }),
  group_limit: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, 'must be greater than 0')
    .transform(Number)
    .optional()
    .meta({ description: 'Maximum number of groups per page.' }),
  group_next_token: z.string().optional().meta({ description: '`groupNextToken` of the previous page.' }),
  state: z.enum(['firing', 'pending', 'inactive', 'unknown']).optional(),
  health: z.enum(['ok', 'err', 'unknown']).optional(),
});

const response = z
  .object({ status: z.literal('success'), data: z.unknown() })
  .meta({ id: 'PrometheusRulesResponse' });
const listing = {
  method: 'GET',
  right: 'read',
  function: 'query',
  response,
  errors: 'prometheus',
  crossOrigin: true,
} as const;
const ruler = { function: 'registry', errors: 'prometheus' } as const;
const yaml = { ...ruler, method: 'GET', right: 'read', responseType: 'application/yaml' } as const;
const change = { ...ruler, right: 'write', response: success, status: 202 } as const;

const url = z
  .string()
  .max(2_000)
  .refine((text) => {
    if (!URL.canParse(text)) return false;
    const { protocol, username, password, hash } = new URL(text);
    return /^https?:$/.test(protocol) && username === '' && password === '' && hash === '';
  }, 'expected https://..., without user, password or fragment')
  .meta({ examples: ['https://alertmanager.example.com'] });
const receiver = z.object({
  url,
  authorization: z
    .string()
    .max(4_000)
    .regex(/^[\x20-\x7e]*$/, 'expected printable ASCII')
    .optional()
    .meta({
      description:
        'The `Authorization` header of requests to the receiver. Responses show `***` instead; sending `***` keeps the stored value.',
    }),
});
const channel = {
  match: z
    .array(z.string().max(2_000).refine(isMatcher, 'expected a matcher such as severity="page"'))
    .max(10)
    .optional()
    .meta({ description: 'Matchers that an alert must all satisfy, such as `severity="page"`.' }),
  repeatInterval: z
    .string()
    .refine((text) => {
      const ms = parseDuration(text);
      return ms !== undefined && ms >= 30_000 && ms <= 30 * DAY_MS;
    }, 'expected a duration such as 4h, 30s to 30d')
    .optional()
    .meta({
      description:
        'Interval at which the receiver is notified again of an alert that keeps firing. Default: 4h.',
    }),
};
/** Maximum number of receivers of one kind. */
const MAX_RECEIVERS = 10;
const receivers = z.object({
  alertmanagers: z.array(receiver).max(MAX_RECEIVERS).default([]),
  webhooks: z
    .array(z.object({ ...receiver.shape, ...channel }))
    .max(MAX_RECEIVERS)
    .default([]),
  slack: z
    .array(z.object({ url, ...channel }))
    .max(MAX_RECEIVERS)
    .default([])
    .meta({
      description:
        "Incoming webhooks for Slack's messages. Responses show the end of the URL as `***`; sending `***` keeps the stored URL.",
    }),
  topics: z
    .array(z.object({ topicArn: z.string().max(400), ...channel }))
    .max(MAX_RECEIVERS)
    .default([])
    .meta({ description: 'SNS topics. The operator must allow each one (setting alertTopics).' }),
});
const undelivered = z.object({
  batches: z.array(
    z.object({
      namespace: z.string(),
      group: z.string(),
      evaluatedAt: z.string(),
      attempts: z.int(),
      reasons: z.array(z.string()).meta({
        description:
          'Why the batch was given up: why receivers did not accept it, such as "hooks.example.com answered 404", or why there was no further attempt.',
      }),
      alerts: z.array(
        z.object({
          id: z.string(),
          status: z.enum(['firing', 'resolved']),
          labels: z.record(z.string(), z.string()),
        }),
      ),
    }),
  ),
});

function isMatcher(text: string): boolean {
  try {
    compileMatcher(parseLabelMatcher(text));
    return true;
  } catch (error) {
    if (error instanceof MatcherError || error instanceof InvalidPatternError) return false;
    throw error;
  }
}

const RECEIVERS = '/api/v1/alert-receivers';

/**
 * Routes of rules and alerts as Prometheus lists them, and of their configuration as used by mimirtool,
 * cortextool and Grafana.
 */
export const rulesRoutes = [
  { ...listing, path: `${PROMETHEUS}/rules`, summary: 'List rules with their alerts', query: rulesQuery },
  {
    ...listing,
    path: `${PROMETHEUS}/alertmanagers`,
    summary: 'List the Alertmanagers that are notified of alerts',
  },
  { ...listing, path: `${PROMETHEUS}/alerts`, summary: 'List pending and firing alerts' },
  { ...yaml, path: RULER, summary: 'Read the rule groups of all namespaces, as YAML' },
  { ...yaml, path: `${RULER}/{namespace}`, summary: 'Read the rule groups of a namespace, as YAML' },
  { ...yaml, path: `${RULER}/{namespace}/{group}`, summary: 'Read a rule group, as YAML' },
  {
    ...change,
    method: 'POST',
    path: `${RULER}/{namespace}`,
    summary:
      'Create or replace a rule group of at most 700,000 bytes; an invalid group is refused as a whole',
    rawBody: 'application/yaml',
  },
  {
    ...change,
    method: 'DELETE',
    path: `${RULER}/{namespace}/{group}`,
    summary: 'Delete a rule group',
  },
  {
    ...change,
    method: 'DELETE',
    path: `${RULER}/{namespace}`,
    summary: 'Delete the rule groups of a namespace',
  },
  {
    method: 'GET',
    path: RECEIVERS,
    right: 'read',
    function: 'registry',
    summary: 'Read the alert receivers',
    response: receivers,
  },
  {
    method: 'GET',
    path: `${RECEIVERS}/undelivered`,
    right: 'read',
    function: 'registry',
    summary:
      'List notifications of the last week that were given up, newest first: a receiver refused them, all attempts failed, or they waited too long or behind too many',
    response: undelivered,
  },
  {
    method: 'PUT',
    path: RECEIVERS,
    right: 'write',
    function: 'registry',
    summary:
      "Set the alert receivers: Alertmanagers (API v2), webhooks in Alertmanager's format (version 4) or Slack's, and SNS topics",
    body: receivers,
    response: receivers,
  },
] as const satisfies readonly Route[];
