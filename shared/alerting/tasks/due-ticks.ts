import { MINUTE_MS } from '../../model/duration';

/** A period in which tenants posted almost nothing, so an absent series does not indicate a problem. */
export interface QuietPeriod {
  readonly fromMs: number;
  /** End of the period; undefined while it lasts. */
  readonly toMs?: number;
  /** Number of tenants that usually posted in a minute before the period. */
  readonly usual: number;
}

/** Maximum age of a tick that is still evaluated, in ms. An evaluator outage shorter than this leaves no gap. */
const MAX_CATCH_UP_MS = 3_600_000;
/**
 * If the newest completed tick is further in the future than this, in ms, the clock of an evaluator was
 * wrong. The rule group then continues with the newest due tick, like a new rule group, instead of waiting for
 * the tick in the future. The clocks of healthy evaluators differ by much less.
 */
export const MAX_TICK_AHEAD_MS = 5 * MINUTE_MS;

/** Time and state of the pipeline when rule groups are evaluated. All times are in ms. */
export interface EvaluationTime {
  readonly nowMs: number;
  /** Lag of the slowest consumer of the stream. Samples younger than this may not be in the tiers yet. */
  readonly lagMs: number;
  /** The last period in which tenants posted almost nothing, if there was one. */
  readonly quiet?: Pick<QuietPeriod, 'fromMs' | 'toMs'>;
}

export interface DueTicks {
  /** Oldest first. Ticks are multiples of the interval in Unix time. */
  readonly ticks: readonly number[];
  /** Number of ticks that were too old to be evaluated. */
  readonly skipped: number;
}

/**
 * Plans which ticks of a rule group to evaluate. A tick is due once it has begun and the samples that it reads have
 * reached the tiers. So if the pipeline lags, ticks wait, and series do not look absent. Ticks that would read a quiet
 * period are skipped and never evaluated; alerts keep their state meanwhile.
 *
 * @param doneMs the newest completed tick; undefined for a new rule group, which starts with the newest tick
 */
export function dueTicks(
  { intervalMs, queryOffsetMs }: { readonly intervalMs: number; readonly queryOffsetMs: number },
  doneMs: number | undefined,
  { nowMs, lagMs, quiet }: EvaluationTime,
): DueTicks {
  const untilMs = Math.min(nowMs, nowMs - lagMs + queryOffsetMs);
  const newestMs = Math.floor(untilMs / intervalMs) * intervalMs;
  const isHeard = (tickMs: number) =>
    quiet === undefined ||
    tickMs - queryOffsetMs < quiet.fromMs ||
    tickMs - queryOffsetMs >= (quiet.toMs ?? Infinity);
  if (doneMs === undefined || doneMs > nowMs + MAX_TICK_AHEAD_MS)
    return { ticks: [newestMs].filter(isHeard), skipped: 0 };
  const firstMs = (Math.floor(doneMs / intervalMs) + 1) * intervalMs;
  const oldestMs = Math.ceil((nowMs - MAX_CATCH_UP_MS) / intervalMs) * intervalMs;
  // Evaluate the newest tick even if the interval is longer than the maximum age.
  const fromMs = Math.min(Math.max(firstMs, oldestMs), Math.max(firstMs, newestMs));
  const count = Math.max(0, (newestMs - fromMs) / intervalMs + 1);
  return {
    ticks: Array.from({ length: count }, (_, i) => fromMs + i * intervalMs).filter(isHeard),
    skipped: Math.max(0, (fromMs - firstMs) / intervalMs),
  };
}
