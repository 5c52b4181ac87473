import type { Alert, AlertingRule, RuleGroup, Silence } from '../api/alerting';
import { labelsText } from '../view/labels-text';

/** An alert with its rule and group. */
export interface ListedAlert {
  /**
   * Identifies the alert in links. Not unique: two rules may have alerts with the same labels, and so with
   * the same id.
   */
  readonly id: string;
  readonly alert: Alert;
  readonly rule: AlertingRule;
  readonly group: RuleGroup;
}

/** Lists the alerts of all rules by state, the latest of each state first. */
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

/** When an alert entered its state, as Unix time in seconds. */
export function changedAtS({ state, activeAt, firedAt, resolvedAt }: Alert): number {
  return secondsOf(
    (state === 'resolved' ? resolvedAt : state === 'firing' ? firedAt : undefined) ?? activeAt,
  );
}

/** Parses an RFC 3339 time. Returns a Unix time in seconds. */
export function secondsOf(time: string): number {
  return Date.parse(time) / 1000;
}

/** When a group or rule was last evaluated, as Unix time in seconds; undefined if never. */
export function evaluatedAtS(lastEvaluation: string): number | undefined {
  const timeS = secondsOf(lastEvaluation);
  // A group that was never evaluated has the time 0001-01-01T00:00:00Z.
  return timeS > 0 ? timeS : undefined;
}

/**
 * A group counts as late after this many intervals without an evaluation. Deploying the evaluator can delay a group by
 * two intervals, which must not count as late.
 */
const LATE_INTERVALS = 3;

/** Returns the groups that are late. Their alerts may have changed since the last evaluation. */
export function lateGroups(groups: readonly RuleGroup[], nowS: number): readonly RuleGroup[] {
  return groups.filter(({ interval, lastEvaluation }) => {
    const timeS = evaluatedAtS(lastEvaluation);
    return timeS !== undefined && nowS - timeS > LATE_INTERVALS * Math.max(60, interval);
  });
}

/** Returns the silence of an alert: the one that ends last, if there are several; undefined if there is none. */
export function silenceOf({ silencedBy = [] }: Alert, silences: readonly Silence[]): Silence | undefined {
  return silences
    .filter(({ id }) => silencedBy.includes(id))
    .sort((a, b) => secondsOf(b.endsAt) - secondsOf(a.endsAt))[0];
}
