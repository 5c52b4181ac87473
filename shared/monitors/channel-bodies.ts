import {
  alertLines,
  lineText,
  slackText,
  subjectText,
  type TopicMessage,
} from '../alerting/delivery/message-text';
import { type AlertEvent, seconds } from './alert-event';
import type { SubjectHost, SubjectService } from './alert-subject';
import type { ChannelOf } from './channel';

/** The tenant and the address that notifications name as their sender. */
export interface Origin {
  /** The tenant's name. */
  readonly organization: string;
  /** The address of this service, without a trailing slash. */
  readonly externalUrl: string;
}

/**
 * Returns the body of a request to a webhook, with Mackerel's fields in Mackerel's order.
 *
 * @see https://mackerel.io/docs/entry/howto/alerts/webhook
 */
export function channelWebhookBody(event: AlertEvent, origin: Origin): string {
  const { subject, alert, atMs, kind, status, value, trigger } = event;
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
      openedAt: seconds(alert.openedAtMs),
      ...(!isOpen && { closedAt: seconds(atMs) }),
      createdAt: alert.openedAtMs,
      statusChangedAt: seconds(isOpen ? alert.changedAtMs : atMs),
      ...(critical !== undefined && { criticalThreshold: critical }),
      ...(duration !== undefined && { duration }),
      isOpen,
      ...(metricLabel !== undefined && { metricLabel }),
      ...(value !== undefined && Number.isFinite(value) && { metricValue: value }),
      monitorName,
      ...(operator !== undefined && { monitorOperator: operator }),
      status: status.toLowerCase(),
      trigger: trigger === 'monitoring' ? 'monitor' : trigger,
      id: alert.id,
      url: alertUrl(origin, event),
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
    status,
    memo,
    isRetired: false,
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
    id,
    memo,
    name,
    orgId: origin.organization,
    roles: roles.map((role) => roleView(name, role, origin)),
  };
}

/**
 * Returns the body of a request to Slack. It mentions the people whom the channel lists for the events'
 * statuses.
 */
export function channelSlackBody(
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
  const lines = alertLines(events, (event) => {
    const [name, host, message] = [event.subject.monitorName, hostName(event), messageOf(event)].map((text) =>
      slackText(lineText(text)),
    );
    return `*[${event.status}]* *${name}*${host} ${message} <${alertUrl(origin, event)}|alert>`;
  });
  return JSON.stringify({
    text: [...(mentioned.length > 0 ? [mentioned.join(' ')] : []), ...lines].join('\n'),
  });
}

/** Formats events as an e-mail. SNS sends it to those addresses of the channel that have subscribed. */
export function mailMessage(
  events: readonly AlertEvent[],
  emails: readonly string[],
  origin: Origin,
): TopicMessage {
  const headOf = (event: AlertEvent) =>
    lineText(`[${event.status}] ${event.subject.monitorName}${hostName(event)}`);
  const texts = alertLines(events, (event) =>
    [headOf(event), messageOf(event), event.subject.memo, alertUrl(origin, event)]
      .filter((line) => line !== '')
      .map(lineText)
      .join('\n'),
  );
  const head = headOf(events[0]!);
  return {
    subject: subjectText(events.length > 1 ? `${head} and ${events.length - 1} more` : head),
    message: JSON.stringify({ default: [origin.organization, ...texts].join('\n\n') }),
    emails,
  };
}

/** Returns a space and the name of an event's host; '' if the event has no host. */
function hostName({ subject: { host } }: AlertEvent): string {
  return host === undefined ? '' : ` ${host.name}`;
}

/**
 * Describes an event in one line: `loadavg5 2.26 > 1.96`, a check's message, or the reason why there is no
 * value.
 */
export function messageOf({ status, value, message, reason, subject }: AlertEvent): string {
  if (reason) return reason;
  if (message !== undefined) return message;
  if (value === undefined) return '';
  const { metricLabel = '', operator, warning, critical } = subject;
  const threshold = status === 'CRITICAL' ? critical : status === 'WARNING' ? warning : undefined;
  const compared =
    operator === undefined || threshold === undefined ? '' : ` ${operator} ${round(threshold)}`;
  return `${metricLabel} ${round(value)}${compared}`;
}

/** Formats a value with at most two decimals, as Mackerel does. */
function round(value: number): string {
  return String(Number(value.toFixed(2)));
}

/** Returns the URL of an alert on the project's web page. */
function alertUrl({ externalUrl }: Origin, { alert }: AlertEvent): string {
  return `${externalUrl}/alerts?alert=${encodeURIComponent(alert.id)}`;
}
