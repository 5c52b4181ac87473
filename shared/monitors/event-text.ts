import type { AlertEvent } from './alert-event';

/** What happened, in a line: `loadavg5 2.26 > 1.96`, a check's message, or why there is no value. */
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

/** At most two digits after the point, as Mackerel writes values. */
function rounded(value: number): string {
  return String(Number(value.toFixed(2)));
}

/** The page's view of an alert. */
export function alertUrl(externalUrl: string, alertId: string): string {
  return `${externalUrl}/alerts?alert=${encodeURIComponent(alertId)}`;
}
