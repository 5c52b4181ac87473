import { MINUTE_MS } from '../../model/duration';
import type { Id } from '../../model/id';
import type { BudgetName } from '../../tenancy/tenant-meter';
import type { UsageTable } from '../../tenancy/usage-table';
import type { QuietPeriod } from './due-ticks';
import type { EvaluatorStore } from './evaluator-store';

/**
 * A tenant that posts less than this share of its usual samples does not count as posting. A minute is quiet if less
 * than this share of the usual number of tenants post in it.
 */
const QUIET_SHARE = 0.1;
/** Number of consecutive quiet minutes that start a period. A single one may be jitter. */
const QUIET_MINUTES = 2;
/** Number of minutes that determine the usual number of tenants. */
const USUAL_MINUTES = 20;
/**
 * Minimum number of these minutes that must have posts; with fewer, no usual number is known. So a stage
 * whose tenants normally post rarely is never quiet.
 */
const LEAST_ACTIVE = 16;
/** Maximum number of tenants whose posts are checked, to tell whether samples still reach the stage. */
const OBSERVED_TENANTS = 20;
/**
 * Minimum usual number of tenants. With a single tenant, an outage cannot be told from the death of its only
 * host, and the alert for that host must not be missed.
 */
const LEAST_TENANTS = 2;

/**
 * Decides whether almost no tenant posts samples. Checks only some of the tenants that have rules. Stores the
 * result if it has changed. The canary counts as one of the tenants. So if there is only one other tenant, and its only
 * host dies, this does not count as an outage.
 *
 * Compares each tenant with its own usual rate, and then counts tenants. So if only a large tenant stops, the
 * other tenants still count as posting; and an outage is noticed even if a few posts get through.
 */
export async function quietOf(
  usage: Pick<UsageTable, 'usesBetween'>,
  store: Pick<EvaluatorStore, 'quiet' | 'putQuiet'>,
  { tenants, canary }: { readonly tenants: readonly Id[]; readonly canary: Id },
  nowMs: number,
): Promise<QuietPeriod | undefined> {
  const step = Math.max(1, tenants.length / OBSERVED_TENANTS);
  const some = tenants.filter((_, i) => Math.floor(i / step) > Math.floor((i - 1) / step));
  const observed = new Set([canary, ...some]);
  const budget: BudgetName = 'samplesPerMinute';
  const [last, ...uses] = await Promise.all([
    store.quiet(),
    ...Array.from(observed, (tenantId) => usage.usesBetween(tenantId, budget, quietMinutes(nowMs))),
  ]);
  const posting = new Map<number, number>();
  for (const use of uses)
    for (const minute of postingMinutes(use, nowMs)) posting.set(minute, (posting.get(minute) ?? 0) + 1);
  const next = ingestQuiet(posting, nowMs, last);
  if (next !== undefined && next !== last) await store.putQuiet(next);
  return next;
}

/** Returns the minutes in which a tenant posted at least a tenth of its own usual number of samples. */
function postingMinutes(samples: ReadonlyMap<number, number>, nowMs: number): number[] {
  const usual = usualOf(samples, nowMs) ?? 0;
  return [...samples].flatMap(([minute, count]) =>
    count > 0 && count >= QUIET_SHARE * usual ? [minute] : [],
  );
}

/** Returns the half-open range of whole minutes of Unix time that {@link ingestQuiet} needs. */
function quietMinutes(nowMs: number): { readonly from: number; readonly before: number } {
  const before = Math.floor(nowMs / MINUTE_MS);
  return { from: before - QUIET_MINUTES - USUAL_MINUTES, before };
}

/**
 * Decides whether almost no tenant posts. A period lasts until at least a tenth of the usual number of
 * tenants post in a minute. While no tenant posts, it lasts without a limit. If only a few tenants keep
 * posting, their number becomes the usual number after {@link USUAL_MINUTES} minutes.
 *
 * @param posting number of tenants that posted, by minute of Unix time; minutes without posts may be missing
 * @param last the last known period, ended or not
 * @returns the last period, updated
 */
export function ingestQuiet(
  posting: ReadonlyMap<number, number>,
  nowMs: number,
  last: QuietPeriod | undefined,
): QuietPeriod | undefined {
  const { from, before } = quietMinutes(nowMs);
  const at = (minute: number) => posting.get(minute) ?? 0;
  const usual = usualOf(posting, nowMs);
  if (last !== undefined && last.toMs === undefined) {
    // Once the period covers all minutes that determine the usual number, a lower usual number counts.
    const isLasting = usual !== undefined && from * MINUTE_MS >= last.fromMs;
    const wanted = QUIET_SHARE * (isLasting ? Math.min(usual, last.usual) : last.usual);
    return at(before - 1) < wanted ? last : { ...last, toMs: before * MINUTE_MS };
  }
  if (usual === undefined || usual < LEAST_TENANTS) return last;
  for (let minute = before - QUIET_MINUTES; minute < before; minute++)
    if (at(minute) >= usual * QUIET_SHARE) return last;
  return { fromMs: (before - QUIET_MINUTES) * MINUTE_MS, usual };
}

/**
 * Returns the median count of the {@link USUAL_MINUTES} minutes before the last ones, ignoring minutes without posts.
 * Returns undefined if too many minutes have no posts.
 */
function usualOf(counts: ReadonlyMap<number, number>, nowMs: number): number | undefined {
  const { from } = quietMinutes(nowMs);
  const active = Array.from({ length: USUAL_MINUTES }, (_, i) => counts.get(from + i) ?? 0)
    .filter((count) => count > 0)
    .sort((a, b) => a - b);
  return active.length < LEAST_ACTIVE ? undefined : active[Math.floor(active.length / 2)];
}
