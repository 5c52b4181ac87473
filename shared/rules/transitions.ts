import type { Alert } from '../alerting/delivery/alert';
import type { Notification } from '../alerting/tasks/notification';
import { idOf } from '../model/id';
import { type Labels, labelsKey } from '../model/labels';

/** A firing alert, as last reported to receivers. */
export type ReportedAlert = Pick<Alert, 'labels' | 'annotations' | 'value'> & { readonly firedAtMs: number };

/** How to notify a tenant's receivers. */
export interface NotificationPolicy {
  readonly isSilenced: (labels: Labels) => boolean;
  /** Repeat intervals of the tenant's receivers, in ms. */
  readonly repeatsMs: readonly number[];
}

/** A policy without silences or repeated notifications. */
export const DEFAULT_POLICY: NotificationPolicy = { isSilenced: () => false, repeatsMs: [] };

export interface Transitions {
  readonly notifications: readonly Notification[];
  /** The alerts that receivers take for firing after these notifications. */
  readonly told: readonly ReportedAlert[];
}

/**
 * Compares the alerts that receivers take for firing with the current alerts. Returns the notifications that receivers
 * need, and what receivers know afterwards. An alert that fired and was resolved between two reported ticks is not
 * reported. A change during a silence is reported when the silence is over, unless it has been undone by then.
 *
 * @param rule its id identifies the rule across all tenants
 * @param alerts undefined when the rule was removed
 * @param tickMs the tick to report, in ms
 * @param beforeMs the last tick reported, in ms; undefined if there was none
 */
export function transitionsOf(
  rule: { readonly id: string; readonly expr: string },
  told: readonly ReportedAlert[],
  alerts: readonly Alert[] | undefined,
  { tickMs, beforeMs = tickMs }: { readonly tickMs: number; readonly beforeMs?: number | undefined },
  { isSilenced, repeatsMs }: NotificationPolicy = DEFAULT_POLICY,
): Transitions {
  const { expr } = rule;
  const now = new Map((alerts ?? []).map((alert) => [labelsKey(alert.labels), alert]));
  const before = new Map(told.map((each) => [labelsKey(each.labels), each]));
  const notifications: Notification[] = [];
  const next: ReportedAlert[] = [];
  const heldBack = new Set<string>();
  for (const [key, each] of before) {
    const alert = now.get(key);
    if (alert?.state === 'firing' && alert.firedAtMs === each.firedAtMs) continue;
    if (isSilenced(each.labels)) {
      heldBack.add(key);
      next.push(each);
      continue;
    }
    const resolvedAtMs = alert?.state === 'resolved' ? alert.resolvedAtMs! : tickMs;
    notifications.push({
      id: idOf('transition', rule.id, key, 'resolved', String(each.firedAtMs)),
      state: 'resolved',
      ...each,
      expr,
      resolvedAtMs,
      reason: alerts === undefined ? 'rule removed' : 'no longer true',
    });
  }
  for (const [key, alert] of now) {
    if (alert.state !== 'firing' || heldBack.has(key)) continue;
    const { labels, annotations, value } = alert;
    const firedAtMs = alert.firedAtMs!;
    const isNotified = before.get(key)?.firedAtMs === firedAtMs;
    if (!isNotified && isSilenced(labels)) continue;
    next.push({ labels, annotations, value, firedAtMs });
    const about = { state: 'firing' as const, labels, annotations, value, expr, firedAtMs };
    if (!isNotified)
      notifications.push({ id: idOf('transition', rule.id, key, 'firing', String(firedAtMs)), ...about });
    else {
      const dueMs = dueRepeats(repeatsMs, firedAtMs, beforeMs, tickMs);
      if (dueMs.length === 0 || isSilenced(labels)) continue;
      const id = idOf('transition', rule.id, key, 'repeat', String(firedAtMs), String(tickMs));
      notifications.push({ id, ...about, repeatsMs: dueMs });
    }
  }
  return { notifications, told: next };
}

/**
 * Returns the repeat intervals that are due. An interval is due if one of its multiples, counted from the
 * tick in which the alert fired, lies between the two ticks (`beforeMs` excluded, `tickMs` included).
 */
function dueRepeats(
  intervalsMs: readonly number[],
  firedAtMs: number,
  beforeMs: number,
  tickMs: number,
): readonly number[] {
  const times = (ms: number, atMs: number) => Math.floor((atMs - firedAtMs) / ms);
  return intervalsMs.filter((ms) => times(ms, tickMs) > times(ms, beforeMs));
}
