import { MINUTE_MS } from '../model/duration';
import type { Id } from '../model/id';
import type { BudgetName } from '../tenancy/tenant-meter';
import type { UsageTable } from '../tenancy/usage-table';
import type { EvaluatorStore } from './evaluator-store';

/** A period in which tenants posted almost nothing, so an absent series does not indicate a problem. */
export interface QuietPeriod {
  readonly fromMs: number;
  /** End of the period; undefined while it lasts. */
  readonly toMs?: number;
  /** Samples per minute that were usual before the period. */
  readonly usual: number;
}

/** Share of the usual samples per minute below which a minute is quiet. */
const QUIET_SHARE = 0.1;
/** Consecutive quiet minutes that start a period. A single quiet minute may be jitter. */
const QUIET_MINUTES = 2;
/** Number of minutes that determine the usual rate. */
const USUAL_MINUTES = 20;
/**
 * Minimum number of these minutes that must have samples. Tenants that normally post rarely therefore never count as
 * quiet.
 */
const LEAST_ACTIVE = 16;
/** Number of tenants whose posts tell whether the whole stage is nearly idle. */
const HEARD_TENANTS = 20;

/**
 * Decides whether almost no tenant posts samples. Checks only some of the tenants that have rules. Stores the
 * result if it has changed.
 */
export async function quietOf(
  usage: Pick<UsageTable, 'usesBetween'>,
  store: Pick<EvaluatorStore, 'quiet' | 'putQuiet'>,
  tenants: readonly Id[],
  nowMs: number,
): Promise<QuietPeriod | undefined> {
  const step = Math.max(1, tenants.length / HEARD_TENANTS);
  const heard = tenants.filter((_, i) => Math.floor(i / step) > Math.floor((i - 1) / step));
  const budget: BudgetName = 'samplesPerMinute';
  const [last, ...uses] = await Promise.all([
    store.quiet(),
    ...heard.map((tenantId) => usage.usesBetween(tenantId, budget, quietMinutes(nowMs))),
  ]);
  const samples = new Map<number, number>();
  for (const use of uses)
    for (const [minute, count] of use) samples.set(minute, (samples.get(minute) ?? 0) + count);
  const next = ingestQuiet(samples, nowMs, last);
  if (next !== undefined && next !== last) await store.putQuiet(next);
  return next;
}

/** Returns the half-open range of whole minutes since epoch that {@link ingestQuiet} needs. */
function quietMinutes(nowMs: number): { readonly from: number; readonly before: number } {
  const before = Math.floor(nowMs / MINUTE_MS);
  return { from: before - QUIET_MINUTES - USUAL_MINUTES, before };
}

/**
 * Decides whether tenants post almost nothing. A period lasts until a minute again has at least a tenth of the usual
 * samples. Without samples it lasts for any time. If tenants post steadily but less, their new rate becomes the usual
 * one after {@link USUAL_MINUTES} minutes.
 *
 * @param samples posted samples by minute since epoch; minutes without samples may be missing
 * @param last the last known period, ended or not
 * @returns the last period, updated
 */
export function ingestQuiet(
  samples: ReadonlyMap<number, number>,
  nowMs: number,
  last: QuietPeriod | undefined,
): QuietPeriod | undefined {
  const { from, before } = quietMinutes(nowMs);
  const at = (minute: number) => samples.get(minute) ?? 0;
  const usual = usualRate(Array.from({ length: USUAL_MINUTES }, (_, i) => at(from + i)));
  if (last !== undefined && last.toMs === undefined) {
    // A lower rate that has lasted for the whole time is the usual one now.
    const isLasting = usual !== undefined && from * MINUTE_MS >= last.fromMs;
    const wanted = QUIET_SHARE * (isLasting ? Math.min(usual, last.usual) : last.usual);
    return at(before - 1) < wanted ? last : { ...last, toMs: before * MINUTE_MS };
  }
  if (usual === undefined) return last;
  for (let minute = before - QUIET_MINUTES; minute < before; minute++)
    if (at(minute) >= usual * QUIET_SHARE) return last;
  return { fromMs: (before - QUIET_MINUTES) * MINUTE_MS, usual };
}

/** Returns the median of the minutes with samples; undefined if too many minutes have none. */
function usualRate(counts: readonly number[]): number | undefined {
  const active = counts.filter((count) => count > 0).sort((a, b) => a - b);
  return active.length < LEAST_ACTIVE ? undefined : active[Math.floor(active.length / 2)];
}
