import type { HotLoad } from '../hot/node-load';
import type { Settings } from '../platform/settings';

/** Above this share of memory, windows leave memory earlier. */
const HIGH_MARK = 0.7;
/** Above this share of memory, windows leave memory at once. */
const FULL_MARK = 0.85;
/** A main thread this busy delays appends. */
const BUSY_MARK = 0.8;
/**
 * How long reads wait after a round that found a node short of memory or CPU, ms. Longer than the time until
 * the next round.
 */
export const PRESSED_MS = 150_000;

/** Whether a node is so short of memory or CPU that reads should wait (query/read-governor.ts). */
export function isPressed({ memory, cpu }: HotLoad): boolean {
  return memory >= FULL_MARK || cpu >= BUSY_MARK;
}

/** How long group-windows stay in memory after their first write. */
export interface Residency {
  /** Minimum residency, in ms. */
  readonly leastMs: number;
  /** The longest delay that is added for a group-window (hot/due-score.ts), ms. */
  readonly spreadMs: number;
}

/**
 * Decides how long group-windows stay in memory: as configured, and shorter when memory fills up, down to 0.
 *
 * @param fullness used share of the fullest node's memory, 0 to 1
 */
export function residencyOf(settings: Pick<Settings, 'window' | 'flushDelay'>, fullness: number): Residency {
  const left = Math.min(1, Math.max(0, (FULL_MARK - fullness) / (FULL_MARK - HIGH_MARK)));
  return {
    leastMs: Math.round(left * settings.window),
    spreadMs: Math.round(left * settings.flushDelay),
  };
}
