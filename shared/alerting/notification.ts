import { type Id, idOf } from '../model/id';
import { type Labels, labelsKey } from '../model/labels';
import type { Alert } from './alert-state';

/** An alert began to fire, or ended. */
export interface Notification {
  /** Names the alert and the transition: a receiver may drop one whose id it has seen. */
  readonly id: Id;
  readonly state: 'firing' | 'resolved';
  /** The alert's identity, `alertname` included. */
  readonly labels: Labels;
  readonly annotations: Labels;
  /** The value of the element when it was last there. */
  readonly value: number;
  readonly expr: string;
  /** The slot in which the alert fired, ms since epoch. */
  readonly firedAtMs: number;
  /** The slot in which it ended; undefined while it fires. */
  readonly resolvedAtMs?: number;
  /** Why an alert ended: its element is gone, or its rule is. Undefined while it fires. */
  readonly reason?: 'no longer true' | 'rule removed';
}

/** The notifications that one slot of a group leaves for receivers: an item of the outbox. */
export interface NotificationBatch {
  /** The tenant's name. */
  readonly tenant: string;
  readonly namespace: string;
  readonly group: string;
  /** The newest slot that was evaluated, ms since epoch. What the notifications say holds in it. */
  readonly slotMs: number;
  /** How far before its slot the group reads, ms. */
  readonly queryOffsetMs: number;
  /** Whether the slot was evaluated more than an interval after it began. */
  readonly isLate: boolean;
  readonly notifications: readonly Notification[];
}

/** What receivers were last told of an alert that fires. */
export type ToldAlert = Pick<Alert, 'labels' | 'annotations' | 'value'> & { readonly firedAtMs: number };

export interface Transitions {
  readonly notifications: readonly Notification[];
  /** What receivers know afterwards. */
  readonly told: readonly ToldAlert[];
}

/**
 * Compares what receivers were told with what is true now. An alert that fired and ended in between is not told at all.
 *
 * @param rule names the rule among all of all tenants, for the ids
 * @param alerts undefined when the rule was removed
 */
export function transitionsOf(
  rule: { readonly id: string; readonly expr: string },
  told: readonly ToldAlert[],
  alerts: readonly Alert[] | undefined,
  slotMs: number,
): Transitions {
  const { expr } = rule;
  const now = new Map((alerts ?? []).map((alert) => [labelsKey(alert.labels), alert]));
  const before = new Map(told.map((each) => [labelsKey(each.labels), each]));
  const notifications: Notification[] = [];
  const next: ToldAlert[] = [];
  for (const [key, each] of before) {
    const alert = now.get(key);
    if (alert?.state === 'firing' && alert.firedAtMs === each.firedAtMs) continue;
    const resolvedAtMs = alert?.state === 'resolved' ? alert.resolvedAtMs! : slotMs;
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
    if (alert.state !== 'firing') continue;
    const { labels, annotations, value } = alert;
    const firedAtMs = alert.firedAtMs!;
    next.push({ labels, annotations, value, firedAtMs });
    if (before.get(key)?.firedAtMs === firedAtMs) continue;
    notifications.push({
      id: idOf('transition', rule.id, key, 'firing', String(firedAtMs)),
      state: 'firing',
      labels,
      annotations,
      value,
      expr,
      firedAtMs,
    });
  }
  return { notifications, told: next };
}
