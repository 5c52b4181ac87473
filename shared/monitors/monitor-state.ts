import type { TaskKind } from '../alerting/tasks/evaluation';
import { MINUTE_MS } from '../model/duration';
import type { MonitorMemory } from './judge-monitor';
import type { Monitor } from './monitor';
import type { Track } from './tracks';

/** State of a monitor after its last evaluation. The evaluator keeps it as the state of a task. */
export interface MonitorState {
  /**
   * Unix time of the last evaluation, in ms. Closing an alert by hand adds one ms, so that an evaluation in progress does
   * not overwrite the close.
   */
  readonly tickMs: number;
  /**
   * The monitor as it was then. When the monitor is removed, the evaluator needs this copy to notify channels
   * that its alerts have ended.
   */
  readonly monitor: Monitor;
  readonly tracks: readonly Track[];
  readonly memory: MonitorMemory;
  /** Reason why the last evaluation failed; undefined if it succeeded. */
  readonly lastError?: string;
}

/** Returns the interval at which a monitor is evaluated, in ms; undefined if it is not evaluated. */
export function monitorIntervalOf({ type }: Pick<Monitor, 'type'>): number | undefined {
  if (type === 'anomalyDetection') return undefined;
  return type === 'expression' ? 5 * MINUTE_MS : MINUTE_MS;
}

/**
 * Returns the kind under which the evaluator's index lists a monitor. The evaluator judges external URLs itself; the
 * query function judges all other monitors.
 */
export function taskKindOf({ type }: Pick<Monitor, 'type'>): TaskKind {
  return type === 'external' ? 'external' : 'monitor';
}
