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
  /** Present: nothing has changed, and receivers with one of these repeat intervals, in ms, are told again. */
  readonly repeatsMs?: readonly number[];
}

/** Whether a notification tells of a change, and so must arrive. One that repeats is sent once: the next one is its retry. */
export function isChange({ repeatsMs }: Notification): boolean {
  return repeatsMs === undefined;
}

/** Notifications that one slot of a group leaves for receivers, all changes or all repeats: an item of the outbox. */
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

/** What happened to alerts of monitors and checks: an item of the outbox, of which `monitors/alert-event.ts` knows more. */
export interface EventBatch extends Pick<NotificationBatch, 'tenant' | 'slotMs'> {
  readonly monitorId: string;
  readonly events: readonly { readonly id: Id; readonly alertId: string; readonly status: string }[];
}

export function isEventBatch(batch: NotificationBatch | EventBatch): batch is EventBatch {
  return 'events' in batch;
}

/** What receivers were last told of an alert that fires. */
export type ToldAlert = Pick<Alert, 'labels' | 'annotations' | 'value'> & { readonly firedAtMs: number };

/** How a tenant's receivers are told. */
export interface Telling {
  readonly isSilenced: (labels: Labels) => boolean;
  /** The repeat intervals of the tenant's receivers, ms. */
  readonly repeatsMs: readonly number[];
}

/** Nothing is silenced, and nothing is told again. */
export const PLAIN_TELLING: Telling = { isSilenced: () => false, repeatsMs: [] };

export interface Transitions {
  readonly notifications: readonly Notification[];
  /** What receivers know afterwards. */
  readonly told: readonly ToldAlert[];
}

/**
 * Compares what receivers were told with what is true now. An alert that fired and ended in between is not told at all. What is silenced is
 * told once the silence has ended, unless it is no longer true by then.
 *
 * @param rule names the rule among all of all tenants, for the ids
 * @param alerts undefined when the rule was removed
 * @param slots the slot that is told of, and the one that was told of before, undefined if none was; ms
 */
export function transitionsOf(
  rule: { readonly id: string; readonly expr: string },
  told: readonly ToldAlert[],
  alerts: readonly Alert[] | undefined,
  { slotMs, beforeMs = slotMs }: { readonly slotMs: number; readonly beforeMs?: number | undefined },
  { isSilenced, repeatsMs }: Telling = PLAIN_TELLING,
): Transitions {
  const { expr } = rule;
  const now = new Map((alerts ?? []).map((alert) => [labelsKey(alert.labels), alert]));
  const before = new Map(told.map((each) => [labelsKey(each.labels), each]));
  const notifications: Notification[] = [];
  const next: ToldAlert[] = [];
  const heldBack = new Set<string>();
  for (const [key, each] of before) {
    const alert = now.get(key);
    if (alert?.state === 'firing' && alert.firedAtMs === each.firedAtMs) continue;
    if (isSilenced(each.labels)) {
      heldBack.add(key);
      next.push(each);
      continue;
    }
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
    if (alert.state !== 'firing' || heldBack.has(key)) continue;
    const { labels, annotations, value } = alert;
    const firedAtMs = alert.firedAtMs!;
    const isTold = before.get(key)?.firedAtMs === firedAtMs;
    if (!isTold && isSilenced(labels)) continue;
    next.push({ labels, annotations, value, firedAtMs });
    const about = { state: 'firing' as const, labels, annotations, value, expr, firedAtMs };
    if (!isTold)
      notifications.push({ id: idOf('transition', rule.id, key, 'firing', String(firedAtMs)), ...about });
    else {
      const dueMs = dueRepeats(repeatsMs, firedAtMs, beforeMs, slotMs);
      if (dueMs.length === 0 || isSilenced(labels)) continue;
      const id = idOf('transition', rule.id, key, 'repeat', String(firedAtMs), String(slotMs));
      notifications.push({ id, ...about, repeatsMs: dueMs });
    }
  }
  return { notifications, told: next };
}

/** The intervals of which a multiple since an alert fired lies after one slot, up to another. */
function dueRepeats(
  intervalsMs: readonly number[],
  firedAtMs: number,
  beforeMs: number,
  slotMs: number,
): readonly number[] {
  const times = (ms: number, atMs: number) => Math.floor((atMs - firedAtMs) / ms);
  return intervalsMs.filter((ms) => times(ms, slotMs) > times(ms, beforeMs));
}
