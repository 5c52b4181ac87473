import type { QuietSpan } from './ingest-quiet';

/** Slots older than this are not made up, ms. A shorter outage of the evaluator leaves no hole. */
export const MAX_CATCH_UP_MS = 3_600_000;

/** What is known of time and of the pipeline when groups are evaluated; ms. */
export interface EvaluationTime {
  readonly nowMs: number;
  /** How far the slowest consumer of the stream is behind: younger samples are not all in the tiers. */
  readonly lagMs: number;
  /** The last time in which tenants posted next to nothing, if there was one. */
  readonly quiet?: Pick<QuietSpan, 'fromMs' | 'toMs'>;
}

export interface DueSlots {
  /** Oldest first; multiples of the interval since epoch. */
  readonly slots: readonly number[];
  /** Slots that are too old to be made up. */
  readonly skipped: number;
}

/**
 * Plans which slots of a group to evaluate. A slot is due when it has begun and the samples that it reads are in the tiers: a pipeline
 * that lags puts slots off rather than letting series look absent. Slots that read within a quiet span are left out for good: every alert is
 * after the span as it was before it.
 *
 * @param doneMs the newest slot that is done; undefined for a new group, which begins with the newest slot
 */
export function dueSlots(
  { intervalMs, queryOffsetMs }: { readonly intervalMs: number; readonly queryOffsetMs: number },
  doneMs: number | undefined,
  { nowMs, lagMs, quiet }: EvaluationTime,
): DueSlots {
  const untilMs = Math.min(nowMs, nowMs - lagMs + queryOffsetMs);
  const newestMs = Math.floor(untilMs / intervalMs) * intervalMs;
  const isHeard = (slotMs: number) =>
    quiet === undefined ||
    slotMs - queryOffsetMs < quiet.fromMs ||
    slotMs - queryOffsetMs >= (quiet.toMs ?? Infinity);
  if (doneMs === undefined) return { slots: [newestMs].filter(isHeard), skipped: 0 };
  const firstMs = (Math.floor(doneMs / intervalMs) + 1) * intervalMs;
  const oldestMs = Math.ceil((nowMs - MAX_CATCH_UP_MS) / intervalMs) * intervalMs;
  // An interval longer than the bound still has its newest slot.
  const fromMs = Math.min(Math.max(firstMs, oldestMs), Math.max(firstMs, newestMs));
  const count = Math.max(0, (newestMs - fromMs) / intervalMs + 1);
  return {
    slots: Array.from({ length: count }, (_, i) => fromMs + i * intervalMs).filter(isHeard),
    skipped: Math.max(0, (fromMs - firstMs) / intervalMs),
  };
}
