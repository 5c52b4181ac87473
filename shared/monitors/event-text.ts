import type { AlertEvent } from './alert-event';

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
    operator === undefined || threshold === undefined ? '' : ` ${operator} ${rounded(threshold)}`;
  return `${metricLabel} ${rounded(value)}${compared}`;
}

/** Formats a value with at most two decimals, as Mackerel does. */
function rounded(value: number): string {
  return String(Number(value.toFixed(2)));
}

/** Returns the URL of the page's view of an alert. */
export function alertUrl(externalUrl: string, alertId: string): string {
  return `${externalUrl}/alerts?alert=${encodeURIComponent(alertId)}`;
}
