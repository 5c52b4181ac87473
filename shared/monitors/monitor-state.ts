import type { MonitorMemory } from './judge-monitor';
import type { Monitor } from './monitor';
import type { Track } from './tracks';

/** What the last evaluation left of a monitor: the state of its group in the evaluator. */
export interface MonitorState {
  /** When it was evaluated last, ms since epoch. A close by hand adds one. */
  readonly slotMs: number;
  /** The monitor as it was; when it is removed, the notifications that its alerts ended describe it. */
  readonly monitor: Monitor;
  readonly tracks: readonly Track[];
  readonly memory: MonitorMemory;
  /** Why the last evaluation failed; undefined when it did not. */
  readonly lastError?: string;
}

const MINUTE_MS = 60_000;

/** How often a monitor is evaluated, ms; undefined: the evaluator leaves it alone. */
export function intervalOf({ type }: Pick<Monitor, 'type'>): number | undefined {
  if (type === 'anomalyDetection' || type === 'external') return undefined;
  return type === 'expression' ? 5 * MINUTE_MS : MINUTE_MS;
}
