/** Building blocks of message texts, shared by notifications of rules and of monitors. */

/** Maximum number of alerts that a text names. */
const MAX_LISTED = 20;
const MAX_LINE = 600;
/** Maximum length of a subject, in characters. SNS accepts only printable ASCII. */
const MAX_SUBJECT = 100;

/** An SNS message. Each subscriber receives the text for its protocol. */
export interface TopicMessage {
  readonly subject: string;
  /** JSON of texts by protocol: plain text for mail and SMS, a webhook's body for all other protocols. */
  readonly message: string;
  /**
   * E-mail addresses that should receive the message. They are sent as the message attribute `emails`. Each
   * subscription to the topic has a filter on this attribute.
   *
   * @default no attribute
   */
  readonly emails?: readonly string[];
}

/** Formats the first alerts, and adds the number of the remaining ones. */
export function alertLines<T>(alerts: readonly T[], format: (alert: T) => string): string[] {
  const rest = alerts.length - MAX_LISTED;
  return [...alerts.slice(0, MAX_LISTED).map(format), ...(rest > 0 ? [`and ${rest} more`] : [])];
}

/** Truncates a tenant's text to {@link MAX_LINE} characters. */
export function lineText(text: string): string {
  return text.slice(0, MAX_LINE);
}

export function subjectText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_SUBJECT);
}

/** @see https://docs.slack.dev/messaging/formatting-message-text#escaping */
export function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
