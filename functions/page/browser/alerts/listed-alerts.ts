import type { Alert, AlertingRule, RuleGroup, Silence } from '../api/alerting';
import { labelsText } from '../view/labels-text';

/** An alert with the rule and group that it is of. */
export interface ListedAlert {
  /** Names the alert in links. Two rules may have alerts of the same labels, and so of the same id. */
  readonly id: string;
  readonly alert: Alert;
  readonly rule: AlertingRule;
  readonly group: RuleGroup;
}

/** The alerts of all rules, by state; the latest of each state first. */
export function listAlerts(
  groups: readonly RuleGroup[],
): Readonly<Record<Alert['state'], readonly ListedAlert[]>> {
  const listed: Record<Alert['state'], ListedAlert[]> = { firing: [], pending: [], resolved: [] };
  for (const group of groups)
    for (const rule of group.rules) {
      if (rule.type !== 'alerting') continue;
      for (const alert of [...rule.alerts, ...(rule.resolvedAlerts ?? [])])
        listed[alert.state].push({ id: alertId(alert), alert, rule, group });
    }
  for (const alerts of Object.values(listed))
    alerts.sort((a, b) => changedAtS(b.alert) - changedAtS(a.alert));
  return listed;
}

function alertId({ labels: { alertname = '', ...labels } }: Alert): string {
  return labelsText([['alertname', alertname], ...Object.entries(labels).sort()]);
}

/** When an alert came into its state, in seconds since epoch. */
export function changedAtS({ state, activeAt, firedAt, resolvedAt }: Alert): number {
  return secondsOf(
    (state === 'resolved' ? resolvedAt : state === 'firing' ? firedAt : undefined) ?? activeAt,
  );
}

/** Reads a time of RFC 3339; returns seconds since epoch. */
export function secondsOf(time: string): number {
  return Date.parse(time) / 1000;
}

/** Seconds since epoch of a group's or rule's last evaluation; undefined if there was none. */
export function evaluatedAtS(lastEvaluation: string): number | undefined {
  const timeS = secondsOf(lastEvaluation);
  // A group that was never evaluated has the time 0001-01-01T00:00:00Z.
  return timeS > 0 ? timeS : undefined;
}

/** Intervals without an evaluation after which a group is late; one more than an evaluator that is redeployed leaves out. */
const LATE_INTERVALS = 3;

/** The groups that have not been evaluated for {@link LATE_INTERVALS} intervals. Their alerts may have changed since. */
export function lateGroups(groups: readonly RuleGroup[], nowS: number): readonly RuleGroup[] {
  return groups.filter(({ interval, lastEvaluation }) => {
    const timeS = evaluatedAtS(lastEvaluation);
    return timeS !== undefined && nowS - timeS > LATE_INTERVALS * Math.max(60, interval);
  });
}

/** The silence that keeps an alert quiet; of several, the one that ends last. Undefined if there is none. */
export function silenceOf({ silencedBy = [] }: Alert, silences: readonly Silence[]): Silence | undefined {
  return silences
    .filter(({ id }) => silencedBy.includes(id))
    .sort((a, b) => secondsOf(b.endsAt) - secondsOf(a.endsAt))[0];
}
