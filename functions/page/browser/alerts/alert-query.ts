import type { Span } from '../view/time-range';
import { changedAtS, type ListedAlert, secondsOf } from './listed-alerts';

/**
 * The query whose values an alert's graph shows: those that the rule compares, of the alert's own series alone; or the series
 * that are missing.
 */
export function queryOfAlert({ alert, rule }: Pick<ListedAlert, 'alert' | 'rule'>): string {
  const { condition } = rule;
  if (condition?.kind === 'absence') return condition.query;
  const query = condition?.query ?? rule.query;
  // The rule's own labels may have replaced those of the series.
  const own = Object.entries(alert.labels).filter(
    ([name]) => name !== 'alertname' && !Object.hasOwn(rule.labels, name),
  );
  if (own.length === 0) return query;
  // The right side of `and` is one series, which has just these labels.
  const only = own.reduce(
    (series, [name, value]) =>
      `label_replace(${series}, ${quoted(name)}, ${quoted(value.replaceAll('$', '$$$$'))}, "", "")`,
    'vector(0)',
  );
  return `(${query}) and on (${own.map(([name]) => labelName(name)).join(', ')}) ${only}`;
}

/** A label name that only quotes make one. */
function labelName(name: string): string {
  return /^[a-zA-Z_]\w*$/.test(name) ? name : quoted(name);
}

/** JSON's escapes are PromQL's. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

/** A graph has as much before an alert became active as it has been active, and at least this; seconds. */
const LEAD_S = 1800;
const MOST_LEAD_S = 7 * 86_400;
const MOST_ACTIVE_S = 30 * 86_400;

/** When an alert was active, in seconds since epoch. */
export function activeSpan({ alert }: Pick<ListedAlert, 'alert'>, nowS: number): Span {
  const fromS = secondsOf(alert.activeAt);
  return { fromS, toS: Math.max(fromS, alert.state === 'resolved' ? changedAtS(alert) : nowS) };
}

/** What an alert's graph shows: its active time, or the end of it, and some time before. */
export function graphSpan(listed: Pick<ListedAlert, 'alert'>, nowS: number): Span {
  const active = activeSpan(listed, nowS);
  const fromS = Math.max(active.fromS, active.toS - MOST_ACTIVE_S);
  const leadS = Math.min(MOST_LEAD_S, Math.max(LEAD_S, active.toS - fromS));
  return { fromS: fromS - leadS, toS: Math.max(active.toS, nowS) };
}
