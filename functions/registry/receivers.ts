import { masked, unmasked, urlsOf } from '../../shared/alerting/delivery/masked-receivers';
import type { Receivers } from '../../shared/alerting/delivery/receivers';
import {
  type EventBatch,
  isEventBatch,
  isUnreadable,
  type NotificationBatch,
  type StoredBatch,
} from '../../shared/alerting/tasks/notification';
import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply } from '../../shared/http/http';
import type { Tenant } from '../../shared/tenancy/tenants';
import { alertTopics, allowsPrivateReceivers, evaluatorStore, receivers, requirePublicUrl } from './stores';

/** Maximum number of undelivered notifications in a response. */
const MAX_UNDELIVERED = 100;

/** Receivers of alerts, and notifications that could not be delivered. */
export const receiverHandlers: RouteHandlers = {
  'GET /api/v1/alert-receivers': async ({ tenant }) => reply(200, masked(await receivers.get(tenant.id))),
  'PUT /api/v1/alert-receivers': async ({ tenant, body }) => putReceivers(tenant, body),
  'GET /api/v1/alert-receivers/undelivered': async ({ tenant }) => listUndelivered(tenant),
};

async function putReceivers(tenant: Tenant, requested: Receivers) {
  const changed = unmasked(requested, await receivers.get(tenant.id));
  for (const { field, url } of urlsOf(changed)) checkUrl(field, url);
  for (const [i, { topicArn }] of requested.topics.entries())
    if (!alertTopics.includes(topicArn))
      throw new HttpError(
        400,
        `topics.${i}.topicArn: ${JSON.stringify(topicArn)} is not one of the topics that the operator allows`,
      );
  await receivers.put(tenant.id, changed);
  return reply(200, masked(changed));
}

async function listUndelivered(tenant: Tenant) {
  const items = await evaluatorStore.listUndelivered(tenant.id, MAX_UNDELIVERED);
  return reply(200, {
    batches: items.map(({ key, attempts, refused, batch }) => ({
      ...viewOf(batch, key),
      attempts,
      reasons: refused,
      evaluatedAt: new Date(batch.tickMs).toISOString(),
    })),
  });
}

/** @param key key of the batch in the outbox, shown as the group if the batch is unreadable */
function viewOf(batch: StoredBatch, key: string) {
  if (isUnreadable(batch)) return { namespace: 'monitors', group: key, alerts: [] };
  return isEventBatch(batch) ? eventView(batch) : batchView(batch);
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
  if (!allowsPrivateReceivers && new URL(text).protocol !== 'https:')
    throw new HttpError(400, `${field}: ${JSON.stringify(text)} must begin with https://`);
  requirePublicUrl(field, text);
}
