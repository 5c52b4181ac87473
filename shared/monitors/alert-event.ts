import type { EventBatch } from '../alerting/tasks/notification';
import { type Id, idOf } from '../model/id';
import type { AlertSubject, SubjectHost } from './alert-subject';
import { isOfHosts, type Monitor } from './monitor';
import type { AlertTransition } from './tracks';

/** A change to an alert, to be recorded and sent to channels. */
export interface AlertEvent extends AlertTransition {
  /** Identifies the transition. A receiver may drop an event whose id it has already seen. */
  readonly id: Id;
  /** Unix time of the event, in ms. */
  readonly atMs: number;
  /**
   * Whether channels are notified. They are not notified if the monitor is muted, or if its host is retired
   * or not `working`.
   */
  readonly isTold: boolean;
  readonly subject: AlertSubject;
}

export interface AlertBatch extends EventBatch {
  readonly events: readonly AlertEvent[];
}

/**
 * Returns whether channels are notified of a monitor's alert.
 *
 * @param host the registered host that the alert concerns; undefined if it concerns none
 */
export function mayNotify(monitor: Monitor, host: Pick<SubjectHost, 'status'> | undefined): boolean {
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
  const { kind, alert, status } = transition;
  return {
    ...transition,
    id: idOf('alert-event', alert.id, kind, status, String(atMs)),
    atMs,
    isTold,
    subject,
  };
}
