import { type Labels, labelValue } from '../model/labels';
import type { Notification, NotificationBatch } from './notification';
import { graphUrl, webhookBody } from './receiver-bodies';

/** Most alerts that a text names. The others are counted. */
const MAX_LISTED = 20;
/** Most characters of an alert's line. */
const MAX_LINE = 600;
/** Most characters of a subject. SNS accepts printable ASCII. */
export const MAX_SUBJECT = 100;
/** Most bytes of an SNS message. */
const MAX_MESSAGE = 256 * 1024;

/** Returns the body of a request to a Slack-compatible webhook. */
export function slackBody(batch: NotificationBatch, externalUrl: string): string {
  const { namespace, group, notifications } = batch;
  const lines = notifications.slice(0, MAX_LISTED).map((each) => {
    const name = slackText(nameOf(each));
    return `• *${name}* ${slackText(detailOf(each))} <${graphUrl(externalUrl, each.expr)}|graph>`;
  });
  const head = `*[${countsOf(notifications)}] ${slackText(`${namespace}/${group}`)}*${batch.isLate ? ' (late)' : ''}`;
  return JSON.stringify({ text: [head, ...lines, ...restOf(notifications)].join('\n') });
}

/** @see https://docs.slack.dev/messaging/formatting-message-text#escaping */
function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** An SNS message. Each subscriber gets the text for its protocol. */
export interface TopicMessage {
  readonly subject: string;
  /** JSON of texts by protocol: plain text for mail and SMS, a webhook's body for the others. */
  readonly message: string;
  /** Addresses that the message is for: the attribute `emails`, by which subscriptions filter. @default no attribute */
  readonly emails?: readonly string[];
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
  const lines = notifications
    .slice(0, MAX_LISTED)
    .map((each) => `${nameOf(each)} ${detailOf(each)}\n${graphUrl(externalUrl, each.expr)}`);
  const email = [head + (batch.isLate ? ' (late)' : ''), ...lines, ...restOf(notifications)].join('\n\n');
  return {
    subject: head.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_SUBJECT),
    message: JSON.stringify({
      default: webhookBody(batch, externalUrl),
      email,
      sms: head.slice(0, MAX_SUBJECT),
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

function restOf({ length }: readonly Notification[]): string[] {
  return length > MAX_LISTED ? [`and ${length - MAX_LISTED} more`] : [];
}

function nameOf({ labels }: Notification): string {
  return (labelValue(labels, 'alertname') ?? '').slice(0, MAX_LINE);
}

/** Returns an alert's details: `job=shop: too slow (firing since 2026-11-23T12:00:00Z)`. */
function detailOf({ labels, annotations, state, firedAtMs, resolvedAtMs }: Notification): string {
  const others = labels.filter(([name]) => name !== 'alertname');
  const pairs = others.map(([name, value]) => `${name}=${value}`).join(' ');
  const summary = summaryOf(annotations);
  const since =
    state === 'firing' ? `firing since ${timeText(firedAtMs)}` : `ended ${timeText(resolvedAtMs!)}`;
  return `${pairs.slice(0, MAX_LINE)}${summary === '' ? '' : `: ${summary.slice(0, MAX_LINE)}`} (${since})`;
}

function summaryOf(annotations: Labels): string {
  return labelValue(annotations, 'summary') ?? labelValue(annotations, 'description') ?? '';
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().replace('.000', '');
}
