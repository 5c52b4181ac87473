import type { Id } from '../../model/id';
import type { Labels } from '../../model/labels';

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

export type StoredBatch<Events extends EventBatch = EventBatch> =
  | NotificationBatch
  | Events
  | UnreadableBatch;

export function isEventBatch<Events extends EventBatch>(batch: StoredBatch<Events>): batch is Events {
  return 'events' in batch;
}

export function isUnreadable(batch: StoredBatch): batch is UnreadableBatch {
  return 'unreadable' in batch;
}
