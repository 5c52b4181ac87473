import type { HotLoad } from '../hot/node-load';
import type { Settings } from '../platform/settings';

/** From here on windows leave memory earlier. */
const HIGH_MARK = 0.7;
/** From here on at once. */
const FULL_MARK = 0.85;
/** A main thread that is this busy lets appends wait. */
const BUSY_MARK = 0.8;
/** Reads wait for so long after a round that found a node pressed: longer than until the next round, ms. */
export const PRESSED_MS = 150_000;

/** Whether a node has so little memory or CPU left that reads are to wait (query/read-governor.ts). */
export function isPressed({ memory, cpu }: HotLoad): boolean {
  return memory >= FULL_MARK || cpu >= BUSY_MARK;
}

/** How long group-windows stay in memory after their first write. */
export interface Residency {
  /** At least, ms. */
  readonly leastMs: number;
  /** The longest delay that a group-window adds (hot/due-score.ts), ms. */
  readonly spreadMs: number;
}

/**
 * Decides how long group-windows stay in memory: as set, until memory fills; then less, down to nothing.
 *
 * @param fullness of the fullest node's memory, 0 to 1
 */
export function residencyOf(settings: Pick<Settings, 'window' | 'flushDelay'>, fullness: number): Residency {
  const left = Math.min(1, Math.max(0, (FULL_MARK - fullness) / (FULL_MARK - HIGH_MARK)));
  return {
    leastMs: Math.round(left * settings.window),
    spreadMs: Math.round(left * settings.flushDelay),
  };
}
