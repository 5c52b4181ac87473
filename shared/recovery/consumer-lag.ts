/** Progress of a shard's reader, as the reader last recorded it. */
export interface ReaderNote {
  /** The shard's watermark, ms since epoch; 0 when unknown. */
  readonly arrivedMs: number;
  /**
   * Age of the watermark's record when the note was written, ms; undefined in a note of an earlier release.
   */
  readonly lagMs: number | undefined;
}

/** How often every shard gets a heartbeat, so that shards without posts have records too. */
const HEARTBEAT_MS = 60_000;
/** A reader writes its note at most this often, unless it begins to fall behind or has caught up. */
export const NOTE_EVERY_MS = 10_000;
/** A reader that keeps up polls, gathers a batch and appends it within the batch window plus this time. */
const POLL_MS = 3_000;
/** How late schedules and deliveries may be. */
const SLACK_MS = 20_000;

/** Whether a reader is falling behind, judged by the lag of the last record that it appended. */
export function isBehind(lagMs: number, batchWindowMs: number): boolean {
  return lagMs > batchWindowMs + POLL_MS;
}

/**
 * Returns how far the slowest reader of the stream is behind. The age of a watermark alone is no lag, since
 * it also grows in shards without posts. So the lag is what the reader noted; only once a heartbeat is
 * overdue does the age of the watermark count.
 *
 * @param notes one for each shard
 * @returns ms; 0 when no reader is behind; null when no reader has written a note yet
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
