import type { QuietSpan } from './ingest-quiet';

/** Maximum age of a slot that is still evaluated, in ms. A shorter outage of the evaluator leaves no hole. */
export const MAX_CATCH_UP_MS = 3_600_000;

/** Time and state of the pipeline when groups are evaluated. All times are in ms. */
export interface EvaluationTime {
  readonly nowMs: number;
  /** Lag of the slowest consumer of the stream. Younger samples may not be in the tiers yet. */
  readonly lagMs: number;
  /** The last span in which tenants posted almost nothing, if there was one. */
  readonly quiet?: Pick<QuietSpan, 'fromMs' | 'toMs'>;
}

export interface DueSlots {
  /** Oldest first. Slots are multiples of the interval since epoch. */
  readonly slots: readonly number[];
  /** Number of slots that were too old to be evaluated. */
  readonly skipped: number;
}

/**
 * Plans which slots of a group to evaluate. A slot is due once it has begun and the samples it reads have
 * reached the tiers. A pipeline that lags therefore delays slots instead of making series look absent. Slots
 * that would read a quiet span are skipped for good, and alerts keep their state over the span.
 *
 * @param doneMs the newest completed slot; undefined for a new group, which starts with the newest slot
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
  // If the interval exceeds the bound, the newest slot is still evaluated.
  const fromMs = Math.min(Math.max(firstMs, oldestMs), Math.max(firstMs, newestMs));
  const count = Math.max(0, (newestMs - fromMs) / intervalMs + 1);
  return {
    slots: Array.from({ length: count }, (_, i) => fromMs + i * intervalMs).filter(isHeard),
    skipped: Math.max(0, (fromMs - firstMs) / intervalMs),
  };
}
