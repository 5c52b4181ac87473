import type { Settings } from '../platform/settings';

/** If a node uses more than this fraction of its memory, group-windows leave memory earlier. */
const HIGH_SHARE = 0.7;
/** If a node uses at least this fraction of its memory, group-windows leave memory immediately. */
const FULL_SHARE = 0.85;

/** The residency: how long a group-window stays in memory after its first write. */
export interface Residency {
  /** Minimum residency, in ms. */
  readonly leastMs: number;
  /**
   * Maximum delay in addition to `leastMs`, in ms. Each group-window is delayed by a fraction of this
   * (hot/due-score.ts).
   */
  readonly flushDelayMs: number;
}

/**
 * Decides the residency of group-windows by how much memory is in use. Up to 70 %, the configured residency applies.
 * From 85 % on, the residency is 0. In between, it falls linearly.
 *
 * @param fullness the fraction of the fullest node's memory that is in use, from 0 to 1
 */
export function residencyOf(settings: Pick<Settings, 'window' | 'flushDelay'>, fullness: number): Residency {
  const left = Math.min(1, Math.max(0, (FULL_SHARE - fullness) / (FULL_SHARE - HIGH_SHARE)));
  return {
    leastMs: Math.round(left * settings.window),
    flushDelayMs: Math.round(left * settings.flushDelay),
  };
}
