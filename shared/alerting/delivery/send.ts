import type { Id } from '../../model/id';
import { mapLimited } from '../../platform/concurrency';
import { log } from '../../platform/log';
import type { Tenant } from '../../tenancy/tenants';
import type { EvaluatorStore, OutboxItem } from '../tasks/evaluator-store';
import { type EventBatch, isEventBatch, isUnreadable, type NotificationBatch } from '../tasks/notification';
import type { TaskStates } from '../tasks/task-states';
import type { RuleGroupAlerts } from './alert';
import { type DeliveryRun, type Destination, deliver, noteFailure, type SendCounts } from './deliver';
import type { TopicMessage } from './message-text';
import {
  type Attempt,
  isLater,
  isRepeated,
  MAX_ATTEMPTS,
  type NextStep,
  stepAfter,
  stepBefore,
} from './next-step';
import type { OutsideRequest } from './post-outside';
import { alertmanagerBodies, receiverSlackBody, receiverWebhookBody, topicMessages } from './receiver-bodies';
import {
  type ChangeReceiver,
  changeReceiversOf,
  notificationsFor,
  type Receiver,
  type ReceiverStore,
  type Receivers,
} from './receivers';

/** Dependencies for sending the notifications of rules. */
interface RuleDelivery {
  readonly receivers: Pick<ReceiverStore, 'get'>;
  readonly ruleStates: Pick<TaskStates<RuleGroupAlerts>, 'list'>;
  readonly post: (request: OutsideRequest) => Promise<void>;
  /**
   * Publishes to an SNS topic.
   *
   * @throws {DeliveryError}
   */
  readonly publish: (topicArn: string, message: TopicMessage) => Promise<void>;
  /** The address of this service, without a trailing slash. */
  readonly externalUrl: string;
  readonly now: () => number;
  /**
   * When this process last reported each alert to all of the tenant's Alertmanagers, as Unix time in ms. Keyed by
   * tenant, then by alert key.
   */
  readonly reported: Map<Id, Map<string, number>>;
}

export interface SendDependencies<Events extends EventBatch = EventBatch> extends RuleDelivery {
  readonly store: Pick<EvaluatorStore<Events>, 'outbox' | 'sent' | 'putOff' | 'giveUp'>;
  /** Returns the destinations of a batch of monitor and check alerts. */
  readonly eventDestinations: (
    tenant: Pick<Tenant, 'id' | 'name'>,
    batch: Events,
  ) => Promise<readonly Destination[]>;
  /** Called when a batch of events has failed {@link MAX_ATTEMPTS} times, with the ids of the failing destinations. */
  readonly gaveUp: (tenantId: Id, ids: readonly string[]) => Promise<void>;
}

export interface SendReport {
  /** Number of requests that receivers accepted. */
  readonly sent: number;
  /** Number of failed requests. */
  readonly failed: number;
  /** Number of notifications that are no longer retried: permanently refused, or attempted too often. */
  readonly dropped: number;
  /** Age of the oldest batch that a destination has not accepted, in ms. */
  readonly outboxAgeMs: number;
}

/** Number of tenants served in parallel, so that a tenant whose receivers hang does not delay the others. */
const PARALLEL = 32;
/**
 * Age of a batch of events after which its channels no longer wait for the list of alerts, in ms. An alert
 * that is missing from the list is better than an alert that nobody is notified of.
 */
const MAX_LIST_WAIT_MS = 600_000;
/**
 * Minimum time between two reports of an alert to an Alertmanager, in ms. Like Prometheus, the evaluator reports
 * alerts again about once a minute. Without this limit, a run that evaluates rule groups every half minute
 * would report alerts up to three times a minute. The limit is a little less than a minute, because two runs
 * may send slightly less than a minute apart.
 */
const RESEND_MS = 55_000;

/**
 * Sends alerts to the receivers of the given tenants, and of tenants with waiting batches. Alertmanagers get
 * all firing alerts once a minute, which also serves as the retry. The other receivers get the changes from the outbox
 * at least once, in order for each rule group.
 */
export async function sendAll<Events extends EventBatch>(
  dependencies: SendDependencies<Events>,
  tenants: readonly Pick<Tenant, 'id' | 'name'>[],
  hasTime: () => boolean,
): Promise<SendReport> {
  const outbox = await dependencies.store.outbox();
  // A tenant with waiting batches may have no rules any more.
  const all = new Map(tenants.map(({ id, name }) => [id, { id, name }]));
  for (const { tenantId: id, batch } of outbox)
    if (!isUnreadable(batch) || !all.has(id)) all.set(id, { id, name: batch.tenant });
  const report: SendCounts = { sent: 0, failed: 0, dropped: 0, settled: new Set() };
  await mapLimited([...all.values()], PARALLEL, async (tenant) => {
    if (!hasTime()) return;
    const onFailure = (error: unknown) => {
      report.failed++;
      log.error('notifications were not sent', { tenant: tenant.name, error });
    };
    try {
      const receivers = await dependencies.receivers.get(tenant.id);
      await reportToAlertmanagers(dependencies, tenant, receivers, report, hasTime).catch(onFailure);
      const items = outbox.filter(({ tenantId }) => tenantId === tenant.id);
      const changeReceivers = changeReceiversOf(receivers);
      const waiting = new Set<string>();
      const delivery = { ...dependencies, tenant, changeReceivers, waiting, report, hasTime };
      for (const [i, item] of items.entries()) {
        if (!hasTime()) return;
        await sendBatch(delivery, item, items.length - 1 - i);
      }
    } catch (error) {
      onFailure(error);
    }
  });
  const { settled, ...counts } = report;
  // Also count batches that were not attempted, since there may have been no time for them.
  const oldest = outbox.find((item) => !settled.has(item.key) && !isRepeated(item));
  return { ...counts, outboxAgeMs: oldest ? Math.max(0, dependencies.now() - oldest.batch.tickMs) : 0 };
}

/**
 * Reports alerts to a tenant's Alertmanagers. After a failure that may be temporary, such as a time-out, an Alertmanager
 * gets no other request in this run: there could be many, and the other receivers wait meanwhile.
 */
async function reportToAlertmanagers(
  { ruleStates, post, externalUrl, now, reported }: RuleDelivery,
  tenant: Pick<Tenant, 'id' | 'name'>,
  { alertmanagers }: Receivers,
  report: SendCounts,
  hasTime: () => boolean,
): Promise<void> {
  if (alertmanagers.length === 0) return;
  const found = await ruleStates.list(tenant.id);
  const nowMs = now();
  const recent = new Map(
    [...(reported.get(tenant.id) ?? [])].filter(([, reportedMs]) => Math.abs(nowMs - reportedMs) < RESEND_MS),
  );
  const failing = new Set<Receiver>();
  for (const { json, keys } of alertmanagerBodies(
    found.values(),
    nowMs,
    externalUrl,
    (key) => !recent.has(key),
  )) {
    if (failing.size === alertmanagers.length || !hasTime()) break;
    const taken = await Promise.all(
      alertmanagers.map(async (alertmanager) => {
        if (failing.has(alertmanager)) return false;
        const { url, authorization } = alertmanager;
        const request = { url: `${url.replace(/\/$/, '')}/api/v2/alerts`, json };
        try {
          await post({ ...request, ...(authorization !== undefined && { authorization }) });
          report.sent++;
          return true;
        } catch (error) {
          if (!noteFailure(tenant.name, error, report).isFinal) failing.add(alertmanager);
          return false;
        }
      }),
    );
    if (taken.every(Boolean)) for (const key of keys) recent.set(key, nowMs);
  }
  if (recent.size === 0) reported.delete(tenant.id);
  else reported.set(tenant.id, recent);
}

/** The delivery of one tenant's batches in a run. */
interface TenantDelivery<Events extends EventBatch> extends SendDependencies<Events>, DeliveryRun {
  readonly changeReceivers: readonly ChangeReceiver[];
  /** Queues whose batches wait for an earlier batch. */
  readonly waiting: Set<string>;
}

/**
 * Sends a batch to its destinations. It is called for a tenant's batches in order, so each destination is notified of
 * an alert's start before its end. A failing destination does not delay the others.
 *
 * @param newer number of the tenant's batches behind this one
 */
async function sendBatch<Events extends EventBatch>(
  delivery: TenantDelivery<Events>,
  item: OutboxItem<Events>,
  newer: number,
): Promise<void> {
  const { now } = delivery;
  const beganMs = now();
  const isStopped = isStoppedAt(delivery, item, beganMs);
  const before = stepBefore(item, { newer, isStopped, nowMs: beganMs });
  if (before.step !== 'attempt') return takeStep(before, delivery, item);
  const attempt = await attemptDelivery(delivery, item, beganMs);
  return takeStep(stepAfter(item, attempt, { beganMs, nowMs: now() }), delivery, item);
}

/** Returns whether none of a batch's remaining destinations may be attempted yet. See {@link Destination.queue}. */
function isStoppedAt(
  { waiting }: Pick<TenantDelivery<EventBatch>, 'waiting'>,
  { batch }: OutboxItem,
  nowMs: number,
): boolean {
  if (!isEventBatch(batch)) return false;
  const { monitorId, tickMs } = batch;
  return (
    waiting.has(unknownDestinations(monitorId)) ||
    (waiting.has(monitorId) && nowMs - tickMs < MAX_LIST_WAIT_MS)
  );
}

/**
 * Tries to deliver a batch to each of its destinations. Stops when the run has no time for another request. The attempt
 * records which requests were taken, so that the next run continues after them.
 */
async function attemptDelivery<Events extends EventBatch>(
  delivery: TenantDelivery<Events>,
  item: OutboxItem<Events>,
  beganMs: number,
): Promise<Attempt> {
  const { waiting, now, hasTime } = delivery;
  const { damaged = 0 } = item;
  const destinations = await destinationsOf(delivery, item);
  const taken = new Set(item.taken);
  const begun = new Map(item.begun);
  const refused = new Set(item.refused);
  // Record a refusal, so that the batch is given up once its other notifications are sent. The undelivered
  // batch keeps the damaged bytes.
  if (damaged > 0) refused.add(`${damaged} of its notifications cannot be read`);
  const failures = new Map<string, string>();
  let isCut = false;
  for (const destination of destinations) {
    if (isStoppedAt(delivery, item, beganMs)) break;
    const { id, queue } = destination;
    if (taken.has(id)) continue;
    isCut ||= !hasTime();
    if (isCut || (!isRepeated(item) && (waiting.has(queue) || isLater(item, now())))) {
      waiting.add(queue);
      continue;
    }
    const delivered = await deliver(delivery, destination, begun.get(id));
    for (const reason of delivered.refused) refused.add(reason);
    if (delivered.isTaken) {
      taken.add(id);
      begun.delete(id);
      continue;
    }
    if (delivered.lastId !== undefined) begun.set(id, delivered.lastId);
    if (delivered.failure === undefined) isCut = true;
    else failures.set(id, delivered.failure);
    waiting.add(queue);
  }
  return { taken, isTaken: destinations.every(({ id }) => taken.has(id)), begun, isCut, refused, failures };
}

/** Carries out a step for a batch: stores the result, and counts it in the report. */
async function takeStep<Events extends EventBatch>(
  next: NextStep,
  { store, gaveUp, tenant, report }: TenantDelivery<Events>,
  { key, batch, damaged = 0 }: OutboxItem,
): Promise<void> {
  if (next.step === 'wait' || next.step === 'attempt') return;
  if (next.step === 'putOff') return store.putOff(next.item);
  report.settled.add(key);
  if (next.step === 'giveUp') {
    const entries = isUnreadable(batch) ? [] : isEventBatch(batch) ? batch.events : batch.notifications;
    // A batch that cannot be read counts as one notification.
    const notifications = Math.max(1, entries.length + damaged);
    report.dropped += notifications;
    const { attempts, refused } = next.item;
    const reason = refused.at(-1);
    log.error('notifications were given up', { tenant: batch.tenant, key, notifications, attempts, reason });
  } else if (damaged > 0) {
    report.dropped += damaged;
    log.error('damaged notifications were not sent', { tenant: batch.tenant, key, damaged });
  }
  if (next.step === 'sent') return store.sent(key);
  await store.giveUp(next.item);
  if (next.step === 'giveUp' && next.failing.length > 0 && isEventBatch(batch))
    await gaveUp(tenant.id, next.failing);
}

/**
 * Returns the destinations of a batch. If they cannot be determined, returns one destination in their place, whose
 * delivery fails.
 */
async function destinationsOf<Events extends EventBatch>(
  delivery: TenantDelivery<Events>,
  { key, batch }: OutboxItem<Events>,
): Promise<readonly Destination[]> {
  try {
    if (isUnreadable(batch)) throw batch.unreadable;
    return isEventBatch(batch)
      ? await delivery.eventDestinations(delivery.tenant, batch)
      : delivery.changeReceivers.map((receiver) => destinationOf(delivery, receiver, batch));
  } catch (error) {
    const send = () => Promise.reject(error);
    const queue = isEventBatch(batch) ? unknownDestinations(batch.monitorId) : key;
    return [{ id: 'destinations', queue, count: 1, requests: [{ id: '', send }] }];
  }
}

/**
 * Returns the queue of a batch whose destinations could not be determined. All later batches of its monitor
 * wait for it, without a time limit, because they may have destinations in common with it.
 */
function unknownDestinations(monitorId: string): string {
  return `destinations ${monitorId}`;
}

function destinationOf(
  dependencies: RuleDelivery,
  receiver: ChangeReceiver,
  batch: NotificationBatch,
): Destination {
  const notifications = notificationsFor(receiver, batch.notifications);
  const send = () => sendTo(dependencies, receiver, { ...batch, notifications });
  return {
    id: receiver.id,
    queue: JSON.stringify([receiver.id, batch.namespace, batch.group]),
    count: notifications.length,
    requests: notifications.length === 0 ? [] : [{ id: '', send }],
  };
}

/** @throws {DeliveryError} */
async function sendTo(
  { post, publish, externalUrl }: RuleDelivery,
  { kind, address, authorization }: ChangeReceiver,
  batch: NotificationBatch,
): Promise<void> {
  switch (kind) {
    case 'webhook':
      return post({
        url: address,
        json: receiverWebhookBody(batch, externalUrl),
        ...(authorization !== undefined && { authorization }),
      });
    case 'slack':
      return post({ url: address, json: receiverSlackBody(batch, externalUrl) });
    case 'topic':
      for (const message of topicMessages(batch, externalUrl)) await publish(address, message);
  }
}
