import type { HotLoad } from '../hot/node-load';
import type { Settings } from '../platform/settings';

/** If more than this share of a node's memory is used, group-windows leave memory earlier. */
const HIGH_SHARE = 0.7;
/** If more than this share of a node's memory is used, group-windows leave memory at once. */
const FULL_SHARE = 0.85;
/** If a node's main thread is busy for more than this share of the time, it delays appends. */
const BUSY_SHARE = 0.8;

/**
 * Whether a node is so short of memory or CPU that reads should let other work go first (read-governor.ts).
 */
export function isPressed({ memory, cpu }: HotLoad): boolean {
  return memory >= FULL_SHARE || cpu >= BUSY_SHARE;
}

/** The residency: how long a group-window stays in memory after its first write. */
export interface Residency {
  /** The shortest residency, ms. */
  readonly leastMs: number;
  /**
   * The longest delay in addition to `leastMs`, ms. Each group-window waits for a share of it (hot/due-score.ts).
   */
  readonly spreadMs: number;
}

/**
 * Decides the residency of group-windows. The configured residency holds up to 70 % of memory, and the residency is 0
 * from 85 % on. In between it falls linearly.
 *
 * @param fullness used share of the fullest node's memory, 0 to 1
 */
export function residencyOf(settings: Pick<Settings, 'window' | 'flushDelay'>, fullness: number): Residency {
  const left = Math.min(1, Math.max(0, (FULL_SHARE - fullness) / (FULL_SHARE - HIGH_SHARE)));
  return {
    leastMs: Math.round(left * settings.window),
    spreadMs: Math.round(left * settings.flushDelay),
  };
}
