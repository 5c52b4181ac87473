/** The progress of a shard's consumer (the ingester), as the consumer last wrote it into the recovery table. */
export interface ConsumerNote {
  /** The shard's watermark: every record that arrived earlier has been appended, as Unix time in ms; 0 if unknown. */
  readonly arrivedMs: number;
  /** How old the watermark was when the note was written, in ms. */
  readonly lagMs: number;
}

/** How often the recovery function puts a heartbeat into every shard, so that all shards have new records. */
const HEARTBEAT_MS = 60_000;
/**
 * Minimum time between two notes of a consumer, in ms. A consumer that falls behind or catches up writes a note
 * immediately.
 */
export const NOTE_EVERY_MS = 10_000;
/** How long a consumer that keeps up may take to append a new record, in addition to the batch window, in ms. */
const POLL_MS = 3_000;
/** Maximum delay of a heartbeat, counted from its scheduled time to its delivery, in ms. */
const SLACK_MS = 20_000;

/** Whether a consumer is falling behind. `lagMs` is how old the last record was when it was appended. */
export function isBehind(lagMs: number, batchWindowMs: number): boolean {
  return lagMs > batchWindowMs + POLL_MS;
}

/**
 * Returns the lag of the stream's slowest consumer, in ms. In a shard without posts, the watermark grows old although
 * the consumer keeps up. So the result uses the lag that the consumer noted. If even the next heartbeat is overdue, the
 * consumer has stopped, and the result uses the age of its watermark instead. A clock that is behind the newest
 * watermark is wrong, so the newest watermark is taken as the current time.
 *
 * @param notes one for each shard
 * @returns 0 if no consumer is behind; null if no consumer has written a note yet
 */
export function consumerLagMs(
  notes: Iterable<ConsumerNote>,
  clockMs: number,
  batchWindowMs: number,
): number | null {
  const known = [...notes].filter(({ arrivedMs }) => arrivedMs > 0);
  const nowMs = Math.max(clockMs, ...known.map(({ arrivedMs }) => arrivedMs));
  const lags = known.map(({ arrivedMs, lagMs }) => {
    const ageMs = nowMs - arrivedMs;
    const overdueMs = lagMs + HEARTBEAT_MS + NOTE_EVERY_MS + batchWindowMs + SLACK_MS;
    if (ageMs > overdueMs) return ageMs;
    return isBehind(lagMs, batchWindowMs) ? lagMs : 0;
  });
  return lags.length === 0 ? null : Math.max(...lags);
}
