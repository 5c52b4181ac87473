import { type Id, idOf } from '../../model/id';
import { type Labels, labelsKey } from '../../model/labels';
import type { Alert } from '../rules/alert-state';

/** An alert that started firing, ended, or still fires after its repeat interval. */
export interface Notification {
  /** Identifies the alert and the transition. A receiver may drop a notification whose id it has already seen. */
  readonly id: Id;
  readonly state: 'firing' | 'resolved';
  /** Labels of the alert, including `alertname`; they are its identity. */
  readonly labels: Labels;
  readonly annotations: Labels;
  /** The element's value when it was last present in the result. */
  readonly value: number;
  readonly expr: string;
  /** The tick in which the alert started firing, as Unix time in ms. */
  readonly firedAtMs: number;
  /** The tick in which the alert ended; undefined while it fires. */
  readonly resolvedAtMs?: number;
  /** Why the alert ended: its element or its rule is gone. Undefined while it fires. */
  readonly reason?: 'no longer true' | 'rule removed';
  /** Set for a repeated notification. Only receivers with one of these repeat intervals, in ms, are notified. */
  readonly repeatsMs?: readonly number[];
}

/**
 * Returns whether a notification reports a change and must be delivered. A repeated notification is never retried,
 * because the next repeat replaces it.
 */
export function isChange({ repeatsMs }: Notification): boolean {
  return repeatsMs === undefined;
}

/** Notifications of one tick of a group: either only changes or only repeats. A batch is one item of the outbox. */
export interface NotificationBatch {
  /** The tenant's name. */
  readonly tenant: string;
  readonly namespace: string;
  readonly group: string;
  /** The newest evaluated tick, as Unix time in ms. The notifications describe the state in this tick. */
  readonly tickMs: number;
  /** The group's expressions were evaluated at the time of the tick minus this offset, in ms. */
  readonly queryOffsetMs: number;
  /** Whether the tick was evaluated more than an interval after it began. */
  readonly isLate: boolean;
  readonly notifications: readonly Notification[];
}

/**
 * A change to the alert of a monitor or check, with only the fields that this folder needs. The complete type
 * is `AlertEvent` in monitors/alert-event.ts.
 */
export interface BaseEvent {
  /** Identifies the transition. A receiver may drop an event whose id it has already seen. */
  readonly id: Id;
  readonly alert: { readonly id: string };
  readonly status: string;
}

/** Events of one evaluation of a monitor, or of one report of a check. A batch is one item of the outbox. */
export interface EventBatch {
  /** The tenant's name. */
  readonly tenant: string;
  /** Time of the evaluation or report, as Unix time in ms. */
  readonly tickMs: number;
  readonly monitorId: string;
  readonly events: readonly BaseEvent[];
}

/** A stored batch that cannot be read, for example because it has another release's format. */
export interface UnreadableBatch {
  /** The tenant's id, because the tenant's name is stored only in the batch. */
  readonly tenant: Id;
  readonly tickMs: number;
  /** Why the batch cannot be read. */
  readonly unreadable: unknown;
}

export type StoredBatch = NotificationBatch | EventBatch | UnreadableBatch;

export function isEventBatch(batch: StoredBatch): batch is EventBatch {
  return 'events' in batch;
}

export function isUnreadable(batch: StoredBatch): batch is UnreadableBatch {
  return 'unreadable' in batch;
}

/** A firing alert, as last reported to receivers. */
export type ReportedAlert = Pick<Alert, 'labels' | 'annotations' | 'value'> & { readonly firedAtMs: number };

/** How to notify a tenant's receivers. */
export interface NotificationPolicy {
  readonly isSilenced: (labels: Labels) => boolean;
  /** Repeat intervals of the tenant's receivers, in ms. */
  readonly repeatsMs: readonly number[];
}

/** A policy without silences and repeated notifications. */
export const DEFAULT_POLICY: NotificationPolicy = { isSilenced: () => false, repeatsMs: [] };

export interface Transitions {
  readonly notifications: readonly Notification[];
  /** The firing alerts that receivers know about after these notifications. */
  readonly told: readonly ReportedAlert[];
}

/**
 * Compares the firing alerts that receivers know about with the current alerts, and returns the notifications
 * that receivers need. An alert that fired and ended in between is not reported. A change during a silence is
 * reported after the silence has ended, if it still holds.
 *
 * @param rule its id identifies the rule across all tenants
 * @param alerts undefined when the rule was removed
 * @param ticks the tick to report, and the last one reported (undefined if none was), in ms
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
