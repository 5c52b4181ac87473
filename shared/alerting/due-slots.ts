/** Slots older than this are not made up, ms. A shorter outage of the evaluator leaves no hole. */
export const MAX_CATCH_UP_MS = 3_600_000;

/** What is known of time and of the pipeline when groups are evaluated; ms. */
export interface EvaluationTime {
  readonly nowMs: number;
  /** How far the slowest consumer of the stream is behind: younger samples are not all in the tiers. */
  readonly lagMs: number;
}

export interface DueSlots {
  /** Oldest first; multiples of the interval since epoch. */
  readonly slots: readonly number[];
  /** Slots that are too old to be made up. */
  readonly skipped: number;
}

/**
 * Plans which slots of a group to evaluate. A slot is due when it has begun and the samples that it reads are in the tiers: a pipeline
 * that lags puts slots off rather than letting series look absent.
 *
 * @param doneMs the newest slot that is done; undefined for a new group, which begins with the newest slot
 */
export function dueSlots(
  { intervalMs, queryOffsetMs }: { readonly intervalMs: number; readonly queryOffsetMs: number },
  doneMs: number | undefined,
  { nowMs, lagMs }: EvaluationTime,
): DueSlots {
  const untilMs = Math.min(nowMs, nowMs - lagMs + queryOffsetMs);
  const newestMs = Math.floor(untilMs / intervalMs) * intervalMs;
  if (doneMs === undefined) return { slots: [newestMs], skipped: 0 };
  const firstMs = (Math.floor(doneMs / intervalMs) + 1) * intervalMs;
  const oldestMs = Math.ceil((nowMs - MAX_CATCH_UP_MS) / intervalMs) * intervalMs;
  // An interval longer than the bound still has its newest slot.
  const fromMs = Math.min(Math.max(firstMs, oldestMs), Math.max(firstMs, newestMs));
  const count = Math.max(0, (newestMs - fromMs) / intervalMs + 1);
  return {
    slots: Array.from({ length: count }, (_, i) => fromMs + i * intervalMs),
    skipped: Math.max(0, (fromMs - firstMs) / intervalMs),
  };
}
