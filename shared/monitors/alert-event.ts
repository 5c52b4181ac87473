import { type Id, idOf } from '../model/id';
import type { AlertStatus } from './alert-status';
import type { AlertSubject, SubjectHost } from './alert-subject';
import { isOfHosts, type Monitor } from './monitor';
import type { AlertTransition } from './tracks';

/** A change of an alert, for its record and for channels. */
export interface AlertEvent {
  /** Identifies the transition. A receiver may drop an id that it has seen. */
  readonly id: Id;
  readonly kind: AlertTransition['kind'];
  readonly trigger: AlertTransition['trigger'];
  readonly alertId: string;
  /** Status after the event; OK when the alert closed. */
  readonly status: AlertStatus;
  readonly value?: number;
  readonly message?: string;
  readonly reason?: string;
  /** Time of the event in ms since epoch, like all times in this interface. */
  readonly atMs: number;
  readonly openedAtMs: number;
  readonly changedAtMs: number;
  /** Whether the alert has ever been CRITICAL or UNKNOWN. */
  readonly wasCritical: boolean;
  /** Whether channels are notified. They are not if the monitor is muted or its host is not `working`. */
  readonly isTold: boolean;
  readonly subject: AlertSubject;
}

/** Events of one evaluation or report. A batch is one item of the outbox. */
export interface AlertBatch {
  /** The tenant's name. */
  readonly tenant: string;
  /** ms since epoch. */
  readonly tickMs: number;
  readonly monitorId: string;
  readonly events: readonly AlertEvent[];
}

/**
 * Returns whether channels are notified of a monitor's alert.
 *
 * @param host host that the alert is about; undefined if it is not about a registered one
 */
export function isToldOf(monitor: Monitor, host: Pick<SubjectHost, 'status'> | undefined): boolean {
  return monitor.isMute !== true && (!isOfHosts(monitor) || host?.status === 'working');
}

/** Converts ms to the whole seconds that clients see. */
export function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

export function eventOf(
  transition: AlertTransition,
  atMs: number,
  isTold: boolean,
  subject: AlertSubject,
): AlertEvent {
  const { kind, trigger, alert, status, value, message, reason } = transition;
  return {
    id: idOf('alert-event', alert.id, kind, status, String(atMs)),
    ...{ kind, trigger, alertId: alert.id, status },
    ...(value !== undefined && { value }),
    ...(message !== undefined && { message }),
    ...(reason !== undefined && { reason }),
    atMs,
    openedAtMs: alert.openedAtMs,
    changedAtMs: kind === 'closed' ? atMs : alert.changedAtMs,
    wasCritical: alert.wasCritical,
    isTold,
    subject,
  };
}
