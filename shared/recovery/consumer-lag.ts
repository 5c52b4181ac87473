/** How far the consumer of a shard (the ingester) is, as it last noted in the recovery table. */
export interface ConsumerNote {
  /** The shard's watermark: every record that arrived earlier is in memory, ms since epoch; 0 if unknown. */
  readonly arrivedMs: number;
  /** How old the watermark was when the note was written, ms. */
  readonly lagMs: number;
}

/** How often the recovery function puts a heartbeat into every shard, so that all shards have new records. */
const HEARTBEAT_MS = 60_000;
/**
 * Shortest time between two notes of a consumer, ms. It notes at once when it falls behind or has caught up.
 */
export const NOTE_EVERY_MS = 10_000;
/** A consumer that keeps up appends a record at most the batch window plus this time after its arrival, ms. */
const POLL_MS = 3_000;
/** How late a scheduled heartbeat and its delivery may be, ms. */
const SLACK_MS = 20_000;

/** Whether a consumer is falling behind, judged by the age that the last record had when it was appended. */
export function isBehind(lagMs: number, batchWindowMs: number): boolean {
  return lagMs > batchWindowMs + POLL_MS;
}

/**
 * Returns how far the slowest consumer of the stream is behind, ms. In a shard without posts, a watermark grows
 * old although its consumer keeps up. So the lag that the consumer noted counts. Only if even the next heartbeat
 * is overdue has the consumer stopped, and the age of its watermark counts.
 *
 * @param notes one for each shard
 * @returns 0 if no consumer is behind; null if no consumer has written a note yet
 */
export function consumerLagMs(
  notes: Iterable<ConsumerNote>,
  nowMs: number,
  batchWindowMs: number,
): number | null {
  const lags = [...notes]
    .filter(({ arrivedMs }) => arrivedMs > 0)
    .map(({ arrivedMs, lagMs }) => {
      const ageMs = Math.max(0, nowMs - arrivedMs);
      const overdueMs = lagMs + HEARTBEAT_MS + NOTE_EVERY_MS + batchWindowMs + SLACK_MS;
      if (ageMs > overdueMs) return ageMs;
      return isBehind(lagMs, batchWindowMs) ? lagMs : 0;
    });
  return lags.length === 0 ? null : Math.max(...lags);
}
