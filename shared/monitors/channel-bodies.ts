import { MAX_SUBJECT, type TopicMessage } from '../alerting/message-text';
import { type AlertEvent, seconds } from './alert-event';
import type { SubjectHost, SubjectService } from './alert-subject';
import type { ChannelOf } from './channel';
import { alertUrl, messageOf } from './event-text';

/** The sender named in notifications. */
export interface Origin {
  /** The tenant's name. */
  readonly organization: string;
  /** The address of this service, without a trailing slash. */
  readonly externalUrl: string;
}

/**
 * Returns the body of a request to a webhook, in Mackerel's format and order of fields.
 *
 * @see https://mackerel.io/docs/entry/howto/alerts/webhook
 */
export function webhookBody(event: AlertEvent, origin: Origin): string {
  const { subject, alertId, openedAtMs, changedAtMs, atMs, kind, status, value, trigger } = event;
  const { host, service, series, type, memo, metricLabel, monitorName, operator } = subject;
  const { warning, critical, duration } = subject;
  const isOpen = kind !== 'closed';
  return JSON.stringify({
    orgName: origin.organization,
    event: 'alert',
    imageUrl: null,
    memo,
    type,
    message: messageOf(event),
    ...(host !== undefined && { host: hostView(host, origin) }),
    ...(service !== undefined && { service: serviceView(service, origin) }),
    ...(series !== undefined && { metric: { labels: series.labels, name: series.name } }),
    alert: {
      openedAt: seconds(openedAtMs),
      ...(!isOpen && { closedAt: seconds(atMs) }),
      createdAt: openedAtMs,
      statusChangedAt: seconds(changedAtMs),
      ...(critical !== undefined && { criticalThreshold: critical }),
      ...(duration !== undefined && { duration }),
      isOpen,
      ...(metricLabel !== undefined && { metricLabel }),
      ...(value !== undefined && Number.isFinite(value) && { metricValue: value }),
      monitorName,
      ...(operator !== undefined && { monitorOperator: operator }),
      status: status.toLowerCase(),
      trigger: trigger === 'monitoring' ? 'monitor' : trigger,
      id: alertId,
      url: alertUrl(origin.externalUrl, alertId),
      ...(warning !== undefined && { warningThreshold: warning }),
    },
  });
}

function hostView({ id, name, status, memo, roles }: SubjectHost, origin: Origin) {
  return {
    id,
    name,
    url: `${origin.externalUrl}/hosts?host=${id}`,
    type: 'unknown',
    ...{ status, memo, isRetired: false },
    roles: Object.entries(roles).flatMap(([service, names]) =>
      names.map((role) => roleView(service, role, origin)),
    ),
  };
}

function roleView(service: string, role: string, { externalUrl }: Origin) {
  return {
    fullname: `${service}: ${role}`,
    serviceName: service,
    serviceUrl: `${externalUrl}/hosts?service=${service}`,
    roleName: role,
    roleUrl: `${externalUrl}/hosts?service=${service}&role=${role}`,
  };
}

function serviceView({ id, name, memo, roles }: SubjectService, origin: Origin) {
  return {
    ...{ id, memo, name, orgId: origin.organization },
    roles: roles.map((role) => roleView(name, role, origin)),
  };
}

/** Most events that a message lists. The others are counted. */
const MAX_LISTED = 20;
const MAX_LINE = 600;

/**
 * Returns the body of a request to Slack. It mentions the people that the channel names for the events'
 * statuses.
 */
export function slackBody(
  events: readonly AlertEvent[],
  mentions: ChannelOf<'slack'>['mentions'],
  origin: Origin,
): string {
  const statuses = new Set(events.map(({ status }) => status));
  const mentioned = [
    statuses.has('OK') && mentions?.ok,
    statuses.has('WARNING') && mentions?.warning,
    (statuses.has('CRITICAL') || statuses.has('UNKNOWN')) && mentions?.critical,
  ].filter((text) => typeof text === 'string' && text !== '');
  const lines = events.slice(0, MAX_LISTED).map((event) => {
    const { subject, status, alertId } = event;
    const where = subject.host === undefined ? '' : ` ${slackText(subject.host.name)}`;
    return `*[${status}]* *${slackText(subject.monitorName)}*${where} ${slackText(messageOf(event))} <${alertUrl(origin.externalUrl, alertId)}|alert>`;
  });
  const rest = events.length > MAX_LISTED ? [`and ${events.length - MAX_LISTED} more`] : [];
  return JSON.stringify({
    text: [...(mentioned.length > 0 ? [mentioned.join(' ')] : []), ...lines, ...rest].join('\n'),
  });
}

/** @see https://docs.slack.dev/messaging/formatting-message-text#escaping */
function slackText(text: string): string {
  return text.slice(0, MAX_LINE).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Formats events as a mail. SNS sends it to the subscribers among the channel's addresses. */
export function mailMessage(
  events: readonly AlertEvent[],
  emails: readonly string[],
  origin: Origin,
): TopicMessage {
  const heads = events.map((event) => {
    const { status, subject } = event;
    const where = subject.host === undefined ? '' : ` ${subject.host.name}`;
    return `[${status}] ${subject.monitorName}${where}`.slice(0, MAX_LINE);
  });
  const texts = events.slice(0, MAX_LISTED).map((event, i) => {
    const lines = [
      heads[i],
      messageOf(event),
      event.subject.memo,
      alertUrl(origin.externalUrl, event.alertId),
    ];
    return lines
      .filter((line) => line !== '')
      .map((line) => line!.slice(0, MAX_LINE))
      .join('\n');
  });
  const rest = events.length > MAX_LISTED ? [`and ${events.length - MAX_LISTED} more`] : [];
  const head = events.length > 1 ? `${heads[0]} and ${events.length - 1} more` : heads[0]!;
  const text = [origin.organization, ...texts, ...rest].join('\n\n');
  return {
    subject: head.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_SUBJECT),
    message: JSON.stringify({ default: text }),
    emails,
  };
}
