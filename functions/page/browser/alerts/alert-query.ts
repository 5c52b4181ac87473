import type { Span } from '../view/time-range';
import { changedAtS, type ListedAlert, secondsOf } from './listed-alerts';

/**
 * Returns the query for an alert's graph: the values that the rule compares, restricted to the alert's own series. If
 * the rule is about missing series, the query returns those series.
 */
export function queryOfAlert({ alert, rule }: Pick<ListedAlert, 'alert' | 'rule'>): string {
  const { condition } = rule;
  if (condition?.kind === 'absence') return condition.query;
  const query = condition?.query ?? rule.query;
  // Skip labels that the rule sets: they may have replaced labels of the series.
  const own = Object.entries(alert.labels).filter(
    ([name]) => name !== 'alertname' && !Object.hasOwn(rule.labels, name),
  );
  return onlyWith(query, own);
}

/** Narrows a query to the series with these labels. */
export function onlyWith(query: string, own: readonly (readonly [name: string, value: string])[]): string {
  if (own.length === 0) return query;
  // The right side of `and` is a single series with exactly these labels.
  const only = own.reduce(
    (series, [name, value]) =>
      `label_replace(${series}, ${quoted(name)}, ${quoted(value.replaceAll('$', '$$$$'))}, "", "")`,
    'vector(0)',
  );
  return `(${query}) and on (${own.map(([name]) => labelName(name)).join(', ')}) ${only}`;
}

/** Quotes a label name if PromQL requires it. */
function labelName(name: string): string {
  return /^[a-zA-Z_]\w*$/.test(name) ? name : quoted(name);
}

/** Quotes a string. PromQL has the same escapes as JSON. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

/**
 * Minimum time shown before an alert became active, in seconds, so that even a short alert's graph shows what came
 * before.
 */
const MIN_LEAD_S = 1800;
/** Maximum time shown before an alert became active, in seconds: one week, enough to see a daily or weekly pattern. */
const MAX_LEAD_S = 7 * 86_400;
/** Maximum active time that the graph shows, in seconds. For a longer alert, it shows the last part. */
const MAX_ACTIVE_S = 30 * 86_400;

/** Returns the span in which an alert was active. If it is still active, the span ends now. */
export function activeSpan({ alert }: Pick<ListedAlert, 'alert'>, nowS: number): Span {
  const fromS = secondsOf(alert.activeAt);
  return { fromS, toS: Math.max(fromS, alert.state === 'resolved' ? changedAtS(alert) : nowS) };
}

/**
 * Returns the span of an alert's graph: a lead, the time in which the alert was active (at most the last
 * MAX_ACTIVE_S of it), and the time since then. The lead is as long as the active time that is shown, within bounds.
 */
export function graphSpan(active: Span, nowS: number): Span {
  const fromS = Math.max(active.fromS, active.toS - MAX_ACTIVE_S);
  const leadS = Math.min(MAX_LEAD_S, Math.max(MIN_LEAD_S, active.toS - fromS));
  return { fromS: fromS - leadS, toS: Math.max(active.toS, nowS) };
}
