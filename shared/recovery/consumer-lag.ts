/** The last note of a shard's reader. */
export interface ReaderNote {
  /** The shard's watermark, ms since epoch; 0 when unknown. */
  readonly arrivedMs: number;
  /** How long before the note the watermark's record had arrived, ms; undefined in a note of an earlier release. */
  readonly lagMs: number | undefined;
}

/** A shard in which nobody posts gets a heartbeat this often. */
const HEARTBEAT_MS = 60_000;
/** A reader writes at most this often, unless it falls behind or catches up. */
export const NOTE_EVERY_MS = 10_000;
/** A reader that keeps up polls, gathers a batch and appends it within the batch window and this. */
const POLL_MS = 3_000;
/** Schedules and deliveries are late by as much as this. */
const SLACK_MS = 20_000;

/** Whether a reader falls behind, by the lag of the record that it appended last. */
export function isBehind(lagMs: number, batchWindowMs: number): boolean {
  return lagMs > batchWindowMs + POLL_MS;
}

/**
 * How far the slowest reader of the stream is behind. A watermark ages where nobody posts, so its age alone is no lag: the
 * lag is what the reader noted, until a heartbeat is overdue.
 *
 * @param notes one for each shard
 * @returns ms; 0 when nothing waits; null when no reader has noted anything yet
 */
export function consumerLagMs(
  notes: Iterable<ReaderNote>,
  nowMs: number,
  batchWindowMs: number,
): number | null {
  const lags = [...notes]
    .filter(({ arrivedMs }) => arrivedMs > 0)
    .map(({ arrivedMs, lagMs }) => {
      const ageMs = Math.max(0, nowMs - arrivedMs);
      const overdueMs = (lagMs ?? 0) + HEARTBEAT_MS + NOTE_EVERY_MS + batchWindowMs + SLACK_MS;
      if (lagMs === undefined || ageMs > overdueMs) return ageMs;
      return isBehind(lagMs, batchWindowMs) ? lagMs : 0;
    });
  return lags.length === 0 ? null : Math.max(...lags);
}
