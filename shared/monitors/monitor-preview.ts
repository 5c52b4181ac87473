import type { AlertStatus } from './alert-record';
import type { AlertSubject } from './alert-subject';

/**
 * The host or series that a line or alert of a preview belongs to. Both are absent if the monitor has only
 * one subject.
 */
export type PreviewSubject = Pick<AlertSubject, 'hostId' | 'series'>;

/** An alert that would have been open. Times are ticks: Unix times in seconds. */
export interface PreviewAlert extends PreviewSubject {
  /** The worst status that the alert had. */
  readonly status: Exclude<AlertStatus, 'OK'>;
  readonly openedAt: number;
  /** Absent if the alert would still be open at the end. */
  readonly closedAt?: number;
  /** Value and message of the worst status. */
  readonly value?: number;
  readonly message?: string;
}

/**
 * The values that a monitor compares with its thresholds, one for each tick; null at ticks where no value is judged.
 */
export interface PreviewLine extends PreviewSubject {
  readonly values: readonly (number | null)[];
}

export interface MonitorPreview {
  /** The first tick, and the time between ticks, in seconds. */
  readonly from: number;
  readonly step: number;
  readonly ticks: number;
  /** Lines of at most {@link MAX_LINES} subjects, those with alerts first. */
  readonly lines: readonly PreviewLine[];
  /** Number of subjects that had a value. */
  readonly subjects: number;
  /** At most {@link MAX_ALERTS}, the oldest first. */
  readonly alerts: readonly PreviewAlert[];
  readonly alertCount: number;
  /**
   * Number of ticks in which the monitor could not be evaluated, with the time and error of the first; absent
   * if there were none.
   */
  readonly failed?: { readonly ticks: number; readonly firstAt: number; readonly error: string };
}
