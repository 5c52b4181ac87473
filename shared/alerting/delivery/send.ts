import type { Id } from '../../model/id';
import { mapLimited } from '../../platform/concurrency';
import { log } from '../../platform/log';
import type { Tenant } from '../../tenancy/tenants';
import { MAX_TICK_AHEAD_MS } from '../tasks/due-ticks';
import type { EvaluatorStore, OutboxItem } from '../tasks/evaluator-store';
import {
  type BaseEvent,
  type EventBatch,
  isChange,
  isEventBatch,
  type NotificationBatch,
} from '../tasks/notification';
import type { RuleGroupState } from '../tasks/rule-group-state';
import type { TaskStates } from '../tasks/task-states';
import type { TopicMessage } from './message-text';
import { DeliveryError, type OutsideRequest } from './post-outside';
import { alertmanagerBodies, receiverSlackBody, receiverWebhookBody, topicMessages } from './receiver-bodies';
import {
  type ChangeReceiver,
  changeReceiversOf,
  notificationsFor,
  type ReceiverStore,
  type Receivers,
} from './receivers';

/** Something that a batch is sent to: a receiver of rules, a channel of monitors, or the list of alerts. */
export interface Destination {
  /** Identifies the destination within its tenant. */
  readonly id: string;
  /**
   * Deliveries with the same queue are made in order: while one fails, the later ones wait. The list of
   * alerts uses the id of the batch's monitor as its queue. While the list fails, the batch's next
   * destinations and all later batches of the monitor wait too. Each batch waits until it is ten minutes old.
   */
  readonly queue: string;
  /** How many of the batch's notifications the destination receives. */
  readonly count: number;
  /** @throws {DeliveryError} */
  readonly deliver: () => Promise<void>;
}

/** Dependencies for sending the notifications of rules. */
interface RuleDelivery {
  readonly receivers: Pick<ReceiverStore, 'get'>;
  readonly ruleStates: Pick<TaskStates<RuleGroupState>, 'list'>;
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
   * Cache, by tenant and by alert key, of when this process last reported the alert to all of the tenant's
   * Alertmanagers, as Unix time in ms.
   */
  readonly reported: Map<Id, Map<string, number>>;
}

/** @template Event the events of monitors and checks, which this folder only passes on */
export interface SendDependencies<Event extends BaseEvent = BaseEvent> extends RuleDelivery {
  readonly store: Pick<EvaluatorStore<Event>, 'outbox' | 'sent' | 'putOff' | 'giveUp'>;
  /** Returns the destinations of a batch of monitor and check alerts. */
  readonly eventDestinations: (
    tenant: Pick<Tenant, 'id' | 'name'>,
    batch: EventBatch<Event>,
  ) => Promise<readonly Destination[]>;
  /** Called when a batch of events has failed {@link MAX_ATTEMPTS} times, with the ids of the failing destinations. */
  readonly gaveUp: (tenantId: Id, ids: readonly string[]) => Promise<void>;
}

export interface SendReport {
  /** Number of requests that receivers accepted. */
  readonly sent: number;
  /** Number of failed requests. */
  readonly failed: number;
  /** Number of notifications that are no longer retried: finally rejected, or attempted too often. */
  readonly dropped: number;
  /** Age of the oldest batch that a destination has not accepted, in ms. */
  readonly outboxAgeMs: number;
}

/** Number of tenants served in parallel, so that a tenant whose receivers hang does not delay the others. */
const PARALLEL = 32;
/** Maximum number of waiting batches of a tenant. Beyond this number, the oldest batches become dead letters. */
const MAX_WAITING = 1_000;
/**
 * Time before its expiry at which a batch becomes a dead letter, in ms. A batch that has not been attempted
 * by then (after an outage of the evaluator) first gets one attempt, unless an earlier batch of its queue has
 * just failed.
 */
const BEFORE_EXPIRY_MS = 3_600_000;
/**
 * Age of a batch of events after which its channels no longer wait for the list of alerts, in ms. It is
 * better that the list lacks an alert than that nobody is notified of it.
 */
const MAX_LIST_WAIT_MS = 600_000;
/** Number of attempts after which a batch becomes a dead letter. */
export const MAX_ATTEMPTS = 36;
/** Reason recorded for a batch that was given up although no receiver refused it. */
const WAITED = 'it waited for a day behind earlier notifications, or while none were sent';
const FIRST_WAIT_MS = 30_000;
/**
 * Maximum wait between two attempts, in ms. New alerts wait behind a batch that failed. Once its receiver
 * works again, they wait for at most this time.
 */
const LONGEST_WAIT_MS = 600_000;
/**
 * Minimum time between two reports of an alert to an Alertmanager, ms. Like Prometheus, the evaluator reports
 * alerts again about once a minute. Without this limit, a run that evaluates rule groups every half minute
 * would report alerts up to three times a minute. The limit is a little less than a minute, because two runs
 * may send slightly less than a minute apart.
 */
const RESEND_MS = 55_000;

/**
 * Returns how long a batch waits after a failed attempt, in ms.
 *
 * @param attempts number of failed attempts so far
 */
export function waitMs(attempts: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempts - 1));
}

/**
 * Sends alerts to the receivers of the given tenants, and of tenants with waiting batches. Alertmanagers get
 * all firing alerts once a minute, which also serves as the retry. The other receivers get the changes from the outbox
 * at least once, in order for each rule group.
 */
export async function sendAll<Event extends BaseEvent>(
  dependencies: SendDependencies<Event>,
  tenants: readonly Pick<Tenant, 'id' | 'name'>[],
  hasTime: () => boolean,
): Promise<SendReport> {
  const outbox = await dependencies.store.outbox();
  // A tenant with waiting batches may have no rules any more.
  const all = new Map(tenants.map(({ id, name }) => [id, { id, name }]));
  for (const { tenantId: id, batch, unreadable } of outbox)
    if (unreadable === undefined || !all.has(id)) all.set(id, { id, name: batch.tenant });
  const report: Report = { sent: 0, failed: 0, dropped: 0, settled: new Set() };
  await mapLimited([...all.values()], PARALLEL, async (tenant) => {
    if (!hasTime()) return;
    const onFailure = (error: unknown) => {
      report.failed++;
      log.error('notifications were not sent', { tenant: tenant.name, error });
    };
    try {
      const receivers = await dependencies.receivers.get(tenant.id);
      await reportToAlertmanagers(dependencies, tenant, receivers, report).catch(onFailure);
      const items = outbox.filter(({ tenantId }) => tenantId === tenant.id);
      await empty(dependencies, tenant, receivers, items, report, hasTime);
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
 * Returns whether a batch has only repeated notifications. Returns false if any notification is damaged,
 * because it may be a change.
 */
function isRepeated({ batch, damaged = 0 }: OutboxItem): boolean {
  return damaged === 0 && !isEventBatch(batch) && !batch.notifications.some(isChange);
}

/** Counts of what was sent so far. */
interface Report {
  sent: number;
  failed: number;
  dropped: number;
  /** Keys of the batches that have left the outbox. */
  readonly settled: Set<string>;
}

async function reportToAlertmanagers(
  { ruleStates, post, externalUrl, now, reported }: RuleDelivery,
  tenant: Pick<Tenant, 'id' | 'name'>,
  { alertmanagers }: Receivers,
  report: Report,
): Promise<void> {
  if (alertmanagers.length === 0) return;
  const found = await ruleStates.list(tenant.id);
  const nowMs = now();
  const recent = new Map(
    [...(reported.get(tenant.id) ?? [])].filter(([, reportedMs]) => Math.abs(nowMs - reportedMs) < RESEND_MS),
  );
  for (const { json, keys } of alertmanagerBodies(
    found.values(),
    nowMs,
    externalUrl,
    (key) => !recent.has(key),
  )) {
    const taken = await Promise.all(
      alertmanagers.map(async ({ url, authorization }) => {
        const request = { url: `${url.replace(/\/$/, '')}/api/v2/alerts`, json };
        try {
          await post({ ...request, ...(authorization !== undefined && { authorization }) });
          report.sent++;
          return true;
        } catch (error) {
          note(tenant.name, error, report);
          return false;
        }
      }),
    );
    if (taken.every(Boolean)) for (const key of keys) recent.set(key, nowMs);
  }
  if (recent.size === 0) reported.delete(tenant.id);
  else reported.set(tenant.id, recent);
}

/**
 * Counts and logs a failure to deliver. An unexpected error, such as a batch in another release's format,
 * becomes an error that is not final: the delivery is retried, and the other batches are still sent.
 */
function note(tenant: string, error: unknown, report: Report): DeliveryError {
  report.failed++;
  if (error instanceof DeliveryError) {
    log.warn('a receiver did not take notifications', { tenant, reason: error.message });
    return error;
  }
  log.error('notifications were not sent', { tenant, error });
  return new DeliveryError('internal error', false, { cause: error });
}

/**
 * Sends a tenant's batches to their destinations. Each destination gets the batches in order, so it is notified of an
 * alert's start before its end. A failing destination does not delay the others.
 */
async function empty<Event extends BaseEvent>(
  dependencies: SendDependencies<Event>,
  tenant: Pick<Tenant, 'id' | 'name'>,
  receivers: Receivers,
  items: readonly OutboxItem<Event>[],
  report: Report,
  hasTime: () => boolean,
): Promise<void> {
  const { store, now } = dependencies;
  const changeReceivers = changeReceiversOf(receivers);
  const waiting = new Set<string>();
  for (const [i, item] of items.entries()) {
    if (!hasTime()) return;
    const { batch, attempts, dueMs, expiresMs, damaged = 0 } = item;
    const ageMs = now() - batch.tickMs;
    const isSurplus = i < items.length - MAX_WAITING;
    const isEnding = now() > expiresMs - BEFORE_EXPIRY_MS;
    // Never send an expired batch. The table may already have removed later batches that have expired, too,
    // so this batch could announce an alert whose end is never announced.
    const isExpired = now() > expiresMs;
    if (isSurplus || isExpired || (isEnding && attempts > 0)) {
      const reason = isSurplus ? `more than ${MAX_WAITING} batches of notifications waited` : WAITED;
      await giveUp(store, { ...item, refused: [...item.refused, reason] }, report);
      continue;
    }
    const isStopped = () =>
      isEventBatch(batch) &&
      (waiting.has(unknownDestinations(batch.monitorId)) ||
        (waiting.has(batch.monitorId) && ageMs < MAX_LIST_WAIT_MS));
    if (isStopped() && !isEnding) continue;
    const isRepeat = isRepeated(item);
    const destinations = await destinationsOf(dependencies, tenant, item, changeReceivers);
    const taken = new Set(item.taken);
    const refused = new Set(item.refused);
    // Record a refusal, so that the batch becomes a dead letter once its other notifications are sent. The
    // dead letter keeps the damaged bytes.
    if (damaged > 0) refused.add(`${damaged} of its notifications cannot be read`);
    const failures = new Map<string, string>();
    for (const destination of destinations) {
      if (isStopped()) break;
      const { id, queue } = destination;
      if (taken.has(id)) continue;
      if (!isRepeat && (waiting.has(queue) || isLater(dueMs, now()))) {
        waiting.add(queue);
        continue;
      }
      const failure = await deliver(destination, batch.tenant, report);
      if (failure === undefined || failure.isFinal) taken.add(id);
      if (failure?.isFinal) refused.add(failure.message);
      else if (failure !== undefined) {
        failures.set(id, failure.message);
        waiting.add(queue);
      }
    }
    const isTaken = destinations.every(({ id }) => taken.has(id));
    const hasFailed = failures.size > 0;
    const tried = { ...item, attempts: attempts + 1, taken: [...taken], refused: [...refused] };
    if (isRepeat || isTaken) {
      report.settled.add(item.key);
      report.dropped += damaged;
      if (damaged > 0)
        log.error('damaged notifications were not sent', { tenant: batch.tenant, key: item.key, damaged });
    }
    if (isRepeat || (isTaken && refused.size === 0)) await store.sent(item.key);
    else if (isTaken) await store.giveUp(tried);
    else if (hasFailed && attempts + 1 >= MAX_ATTEMPTS) {
      await giveUp(store, { ...tried, refused: [...refused, ...failures.values()] }, report);
      if (isEventBatch(batch)) await dependencies.gaveUp(tenant.id, [...failures.keys()]);
    } else if (isEnding) {
      const reasons = hasFailed ? failures.values() : [WAITED];
      const ended = { ...tried, attempts: hasFailed ? tried.attempts : attempts };
      await giveUp(store, { ...ended, refused: [...refused, ...reasons] }, report);
    } else if (hasFailed) await store.putOff({ ...tried, dueMs: now() + waitMs(attempts + 1) });
    else if (taken.size > item.taken.length) await store.putOff({ ...tried, attempts });
  }
}

/**
 * Returns whether an attempt is due later. A time far beyond the maximum wait was set by an evaluator whose clock was
 * wrong.
 */
function isLater(dueMs: number, nowMs: number): boolean {
  return dueMs > nowMs && dueMs - nowMs <= LONGEST_WAIT_MS + MAX_TICK_AHEAD_MS;
}

/** Moves a batch to the dead letters. */
async function giveUp(
  store: Pick<EvaluatorStore, 'giveUp'>,
  item: OutboxItem,
  report: Report,
): Promise<void> {
  const { batch, key, damaged = 0 } = item;
  const entries = isEventBatch(batch) ? batch.events : batch.notifications;
  // A batch that cannot be read counts as one notification.
  const notifications = Math.max(1, entries.length + damaged);
  report.dropped += notifications;
  report.settled.add(key);
  log.error('notifications were given up', {
    tenant: batch.tenant,
    key,
    notifications,
    attempts: item.attempts,
    reason: item.refused.at(-1),
  });
  await store.giveUp(item);
}

/**
 * Returns the destinations of a batch. If they cannot be determined, returns one destination in their place, whose
 * delivery fails.
 */
async function destinationsOf<Event extends BaseEvent>(
  dependencies: SendDependencies<Event>,
  tenant: Pick<Tenant, 'id' | 'name'>,
  { key, batch, unreadable }: OutboxItem<Event>,
  changeReceivers: readonly ChangeReceiver[],
): Promise<readonly Destination[]> {
  try {
    if (unreadable !== undefined) throw unreadable;
    return isEventBatch(batch)
      ? await dependencies.eventDestinations(tenant, batch)
      : changeReceivers.map((receiver) => destinationOf(dependencies, receiver, batch));
  } catch (error) {
    const deliver = () => Promise.reject(error);
    const queue = isEventBatch(batch) ? unknownDestinations(batch.monitorId) : key;
    return [{ id: 'destinations', queue, count: 1, deliver }];
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
  return {
    id: receiver.id,
    queue: JSON.stringify([receiver.id, batch.namespace, batch.group]),
    count: notifications.length,
    deliver: () => sendTo(dependencies, receiver, { ...batch, notifications }),
  };
}

/**
 * Delivers a batch to a destination, and counts it in the report.
 *
 * @returns the failure; undefined when the destination accepted the batch
 */
async function deliver(
  { count, deliver }: Destination,
  tenant: string,
  report: Report,
): Promise<DeliveryError | undefined> {
  if (count === 0) return undefined;
  try {
    await deliver();
    report.sent++;
    return undefined;
  } catch (error) {
    const failure = note(tenant, error, report);
    if (failure.isFinal) report.dropped += count;
    return failure;
  }
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
