import type { Receiver, Receivers } from '../../shared/alerting/delivery/receivers';
import {
  type EventBatch,
  isEventBatch,
  type NotificationBatch,
} from '../../shared/alerting/tasks/notification';
import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply } from '../../shared/http/http';
import type { Tenant } from '../../shared/tenancy/tenants';
import { alertTopics, allowsPrivateReceivers, evaluatorStore, receivers, requirePublicUrl } from './stores';

/** Maximum number of undelivered notifications in a response. */
const MAX_UNDELIVERED = 100;

/** Receivers of alerts, and notifications that could not be delivered. */
export const receiverHandlers: RouteHandlers = {
  'GET /api/v1/alert-receivers': async ({ tenant }) => masked(await receivers.get(tenant.id)),
  'PUT /api/v1/alert-receivers': async ({ tenant, body }) => putReceivers(tenant, body),
  'GET /api/v1/alert-receivers/undelivered': async ({ tenant }) => listUndelivered(tenant),
};

/** Replaces a secret in responses. In a request, it means that the stored secret is kept. */
const MASK = '***';

function maskedReceiver<T extends Receiver>(each: T): T {
  return each.authorization === undefined ? each : { ...each, authorization: MASK };
}

/** Hides the path of a Slack URL, which is secret, except its last characters, which distinguish it from other URLs. */
function maskedUrl(text: string): string {
  return `${new URL(text).origin}/${MASK}${text.slice(-4)}`;
}

function masked({ alertmanagers, webhooks, slack, topics }: Receivers) {
  return reply(200, {
    alertmanagers: alertmanagers.map(maskedReceiver),
    webhooks: webhooks.map(maskedReceiver),
    slack: slack.map((each) => ({ ...each, url: maskedUrl(each.url) })),
    topics,
  });
}

async function putReceivers(tenant: Tenant, requested: Receivers) {
  const stored = await receivers.get(tenant.id);
  const completed = <T extends Receiver>(kind: 'alertmanagers' | 'webhooks', each: T, i: number): T => {
    checkUrl(`${kind}.${i}.url`, each.url);
    if (each.authorization !== MASK) return each;
    const { authorization: _, ...rest } = each;
    const known = stored[kind].find(({ url }) => url === each.url)?.authorization;
    return { ...rest, ...(known !== undefined && { authorization: known }) } as T;
  };
  const changed: Receivers = {
    alertmanagers: requested.alertmanagers.map((each, i) => completed('alertmanagers', each, i)),
    webhooks: requested.webhooks.map((each, i) => completed('webhooks', each, i)),
    slack: requested.slack.map((each, i) => {
      const url = stored.slack.find((known) => maskedUrl(known.url) === each.url)?.url ?? each.url;
      checkUrl(`slack.${i}.url`, url);
      return { ...each, url };
    }),
    topics: requested.topics,
  };
  for (const [i, { topicArn }] of requested.topics.entries())
    if (!alertTopics.includes(topicArn))
      throw new HttpError(
        400,
        `topics.${i}.topicArn: ${JSON.stringify(topicArn)} is not one of the topics that the operator allows`,
      );
  await receivers.put(tenant.id, changed);
  return masked(changed);
}

async function listUndelivered(tenant: Tenant) {
  const items = await evaluatorStore.listUndelivered(tenant.id, MAX_UNDELIVERED);
  return reply(200, {
    batches: items.map(({ attempts, refused, batch }) => ({
      ...(isEventBatch(batch) ? eventView(batch) : batchView(batch)),
      attempts,
      reasons: refused,
      evaluatedAt: new Date(batch.tickMs).toISOString(),
    })),
  });
}

function batchView({ namespace, group, notifications }: NotificationBatch) {
  const alerts = notifications.map(({ id, state, labels }) => ({
    id,
    status: state,
    labels: Object.fromEntries(labels),
  }));
  return { namespace, group, alerts };
}

/** Formats the events of a monitor like the alerts of a group of rules. */
function eventView({ monitorId, events }: EventBatch) {
  const alerts = events.map(({ id, alert, status }) => ({
    id,
    status: status === 'OK' ? 'resolved' : 'firing',
    labels: { alert: alert.id, monitor: monitorId },
  }));
  return { namespace: 'monitors', group: monitorId, alerts };
}

/**
 * Checks the URL of a receiver.
 *
 * @throws {HttpError} 400
 */
function checkUrl(field: string, text: string): void {
  if (text.includes(MASK))
    throw new HttpError(400, `${field}: no stored URL matches ${JSON.stringify(text)}; give the whole URL`);
  if (!allowsPrivateReceivers && new URL(text).protocol !== 'https:')
    throw new HttpError(400, `${field}: ${JSON.stringify(text)} must begin with https://`);
  requirePublicUrl(field, text);
}
