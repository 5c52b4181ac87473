import type { Settings } from '../platform/settings';

/** If a node uses more than this share of its memory, group-windows leave memory earlier. */
const HIGH_SHARE = 0.7;
/** If a node uses this share of its memory or more, group-windows leave memory immediately. */
const FULL_SHARE = 0.85;

/** The residency: how long a group-window stays in memory after its first write. */
export interface Residency {
  /** Minimum residency, ms. */
  readonly leastMs: number;
  /**
   * Maximum delay in addition to `leastMs`, ms. Each group-window is delayed by a fraction of it (hot/due-score.ts).
   */
  readonly spreadMs: number;
}

/**
 * Decides the residency of group-windows from the memory that is in use. Up to 70 %, the configured residency applies.
 * From 85 %, the residency is 0. In between, it falls linearly.
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
