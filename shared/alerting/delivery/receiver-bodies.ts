import { type Labels, labelsKey, labelValue } from '../../model/labels';
import { slicesOf } from '../../model/slices';
import type { Notification, NotificationBatch } from '../tasks/notification';
import { type Alert, RESOLVED_RETENTION_MS, type RuleGroupAlerts } from './alert';
import { alertLines, lineText, slackText, subjectText, type TopicMessage } from './message-text';

/** Time after which an Alertmanager ends a firing alert that has not been reported again, in ms. */
export const FIRING_MS = 4 * 60_000;
/** Maximum number of alerts in one request to an Alertmanager. */
const MAX_ALERTS = 256;
/** Maximum size of an SNS message, in bytes. */
const MAX_MESSAGE = 256 * 1024;
/** Maximum length of an SNS message's text for SMS, in characters. */
const MAX_SMS = 100;
const NO_TIME = '0001-01-01T00:00:00Z';

/** Body of a request to an Alertmanager. */
export interface AlertmanagerBody {
  readonly json: string;
  /** Keys of its alerts, each including the alert's state. */
  readonly keys: readonly string[];
}

/**
 * Returns the bodies of requests to an Alertmanager. They report all firing alerts and those that ended in
 * the last 15 minutes, because an Alertmanager has no durable memory.
 *
 * @param externalUrl the address of this service, without a trailing slash
 * @param isDue whether to report an alert now, given its key
 * @see https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
 */
export function alertmanagerBodies(
  states: Iterable<RuleGroupAlerts>,
  nowMs: number,
  externalUrl: string,
  isDue: (key: string) => boolean,
): AlertmanagerBody[] {
  const due: { key: string; alert: object }[] = [];
  for (const { rules } of states)
    for (const { alerts, expr } of rules)
      for (const alert of alerts) {
        const key = `${labelsKey(alert.labels)} ${alert.state} ${alert.resolvedAtMs ?? alert.firedAtMs}`;
        if (isNotified(alert, nowMs) && isDue(key))
          due.push({ key, alert: postable(alert, expr, nowMs, externalUrl) });
      }
  return slicesOf(due, MAX_ALERTS).map((slice) => ({
    json: JSON.stringify(slice.map(({ alert }) => alert)),
    keys: slice.map(({ key }) => key),
  }));
}

function isNotified({ state, resolvedAtMs }: Alert, nowMs: number): boolean {
  return state === 'firing' || (state === 'resolved' && nowMs - resolvedAtMs! <= RESOLVED_RETENTION_MS);
}

function postable(alert: Alert, expr: string, nowMs: number, externalUrl: string): object {
  const { labels, annotations, firedAtMs, resolvedAtMs } = alert;
  return {
    labels: objectOf(labels),
    annotations: objectOf(annotations),
    startsAt: timeText(firedAtMs!),
    endsAt: timeText(resolvedAtMs ?? nowMs + FIRING_MS),
    generatorURL: graphUrl(externalUrl, expr),
  };
}

/**
 * Returns the body of a request to a webhook, in Alertmanager's format, version 4. In addition, each alert
 * has the field `id`: a receiver may drop an alert whose id it has seen.
 *
 * @see https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
 */
export function receiverWebhookBody(batch: NotificationBatch, externalUrl: string): string {
  const { namespace, group, notifications, isLate, tickMs } = batch;
  const groupLabels = { namespace, group };
  const [first] = notifications;
  const common = (of: (each: Notification) => Labels) =>
    objectOf(
      of(first!).filter(([name, value]) =>
        notifications.every((each) => labelValue(of(each), name) === value),
      ),
    );
  return JSON.stringify({
    version: '4',
    groupKey: `{}:{namespace=${JSON.stringify(namespace)}, group=${JSON.stringify(group)}}`,
    truncatedAlerts: 0,
    status: notifications.some(({ state }) => state === 'firing') ? 'firing' : 'resolved',
    receiver: 'webhook',
    groupLabels,
    commonLabels: common(({ labels }) => labels),
    commonAnnotations: common(({ annotations }) => annotations),
    externalURL: externalUrl,
    evaluatedAt: timeText(tickMs),
    isLate,
    alerts: notifications.map(
      ({ id, state, labels, annotations, firedAtMs, resolvedAtMs, expr, reason }) => ({
        id,
        status: state,
        labels: objectOf(labels),
        annotations: objectOf(annotations),
        startsAt: timeText(firedAtMs),
        endsAt: resolvedAtMs === undefined ? NO_TIME : timeText(resolvedAtMs),
        generatorURL: graphUrl(externalUrl, expr),
        fingerprint: id,
        ...(reason !== undefined && { reason }),
      }),
    ),
  });
}

/** Replaces characters of label names that Alertmanagers before 0.27 refuse. */
function objectOf(labels: Labels): Record<string, string> {
  return Object.fromEntries(
    labels.map(([name, value]) => [name.replace(/[^a-zA-Z0-9_]/g, '_').replace(/^(?=\d)/, '_'), value]),
  );
}

function graphUrl(externalUrl: string, expr: string): string {
  return `${externalUrl}/graph?g0.expr=${encodeURIComponent(expr)}&g0.tab=1`;
}

/** Returns the body of a request to a Slack-compatible webhook. */
export function receiverSlackBody(batch: NotificationBatch, externalUrl: string): string {
  const { namespace, group, notifications } = batch;
  const lines = alertLines(notifications, (each) => {
    const name = slackText(nameOf(each));
    return `• *${name}* ${slackText(detailOf(each))} <${graphUrl(externalUrl, each.expr)}|graph>`;
  });
  const head = `*[${countsOf(notifications)}] ${slackText(`${namespace}/${group}`)}*${batch.isLate ? ' (late)' : ''}`;
  return JSON.stringify({ text: [head, ...lines].join('\n') });
}

/**
 * Returns the messages about a batch for an SNS topic. A batch too long for one SNS message is split; an
 * alert too long for a message loses its annotations.
 *
 * @see
 *   https://docs.aws.amazon.com/sns/latest/dg/sns-send-custom-platform-specific-payloads-mobile-devices.html
 */
export function topicMessages(batch: NotificationBatch, externalUrl: string): TopicMessage[] {
  const { notifications } = batch;
  const message = messageOf(batch, externalUrl);
  if (Buffer.byteLength(message.message) <= MAX_MESSAGE) return [message];
  if (notifications.length === 1)
    return [messageOf({ ...batch, notifications: [{ ...notifications[0]!, annotations: [] }] }, externalUrl)];
  const half = Math.ceil(notifications.length / 2);
  return [notifications.slice(0, half), notifications.slice(half)].flatMap((part) =>
    topicMessages({ ...batch, notifications: part }, externalUrl),
  );
}

function messageOf(batch: NotificationBatch, externalUrl: string): TopicMessage {
  const { namespace, group, notifications } = batch;
  const [first] = notifications;
  const head = `[${countsOf(notifications)}] ${nameOf(first!)} (${namespace}/${group})`;
  const lines = alertLines(
    notifications,
    (each) => `${nameOf(each)} ${detailOf(each)}\n${graphUrl(externalUrl, each.expr)}`,
  );
  const email = [head + (batch.isLate ? ' (late)' : ''), ...lines].join('\n\n');
  return {
    subject: subjectText(head),
    message: JSON.stringify({
      default: receiverWebhookBody(batch, externalUrl),
      email,
      sms: head.slice(0, MAX_SMS),
    }),
  };
}

function countsOf(notifications: readonly Notification[]): string {
  return (['firing', 'resolved'] as const)
    .map((wanted) => [wanted, notifications.filter(({ state }) => state === wanted).length] as const)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${state.toUpperCase()}:${count}`)
    .join(' ');
}

function nameOf({ labels }: Notification): string {
  return lineText(labelValue(labels, 'alertname') ?? '');
}

/** Returns an alert's details: `job=shop: too slow (firing since 2026-11-23T12:00:00Z)`. */
function detailOf({ labels, annotations, state, firedAtMs, resolvedAtMs }: Notification): string {
  const others = labels.filter(([name]) => name !== 'alertname');
  const pairs = others.map(([name, value]) => `${name}=${value}`).join(' ');
  const summary = summaryOf(annotations);
  const time = (ms: number) => timeText(ms).replace('.000', '');
  const since = state === 'firing' ? `firing since ${time(firedAtMs)}` : `ended ${time(resolvedAtMs!)}`;
  return `${lineText(pairs)}${summary === '' ? '' : `: ${lineText(summary)}`} (${since})`;
}

function summaryOf(annotations: Labels): string {
  return labelValue(annotations, 'summary') ?? labelValue(annotations, 'description') ?? '';
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
