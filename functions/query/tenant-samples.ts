import type { TimeRange } from '../../shared/model/selection';
import type { QueryOptions } from '../../shared/promql/query';
import { type IndexView, SelectLimitError, type SelectLimits } from '../../shared/query/find-series';
import { ReadBudget } from '../../shared/query/read-budget';
import { Querier } from '../../shared/query/select';
import { promqlErrorOf, TierSamples } from '../../shared/query/tier-samples';
import { limitsOf } from '../../shared/tenancy/limits';
import type { Tenant } from '../../shared/tenancy/tenants';
import { dependencies, retentionMs, stage } from './stores';

/** Maximum number of values in a query's intermediate vectors. 5 million values take 45 MB. */
const MAX_VALUES = 5_000_000;

/** Limits on the series and samples that one query of a tenant may select. */
export function selectLimitsOf({ limits }: Tenant): SelectLimits & { readonly querySeconds: number } {
  const { querySeries, querySources, querySamples, querySeconds } = limitsOf(stage, limits);
  return { series: querySeries, sources: querySources, samples: querySamples, querySeconds };
}

/**
 * Limits of one PromQL query of a tenant. The budget of the query ({@link budgetOf}) applies the limits on series and
 * samples too, before samples are read. The evaluator needs limits of its own for stores without a budget (`ops rules`).
 */
export function queryLimitsOf(tenant: Tenant): QueryOptions['limits'] {
  const { series, samples } = selectLimitsOf(tenant);
  return { maxSeries: series, maxSamples: samples, maxValues: MAX_VALUES };
}

/** Returns the budget that all reads of one query of a tenant share. Its time starts now. */
export function budgetOf(tenant: Tenant, timeMs = 1000 * selectLimitsOf(tenant).querySeconds): ReadBudget {
  const startedMs = Date.now();
  return new ReadBudget(selectLimitsOf(tenant), () => Date.now() - startedMs >= timeMs);
}

/**
 * Gives one query access to a tenant's samples. All selections of the query share one budget.
 *
 * @param advice appended to the error of a query that selects too many samples
 */
export function samplesOf(tenant: Tenant, budget = budgetOf(tenant), advice = ''): TierSamples {
  return new TierSamples(new Querier(dependencies, tenant), retentionMs, Date.now(), budget, advice);
}

/** Gives several queries, each with its own budget, access to a tenant's samples. The queries share common requests. */
export function sharedSamplesOf(tenant: Tenant): (timeMs: number) => TierSamples {
  const querier = new Querier(dependencies, tenant);
  return (timeMs) => new TierSamples(querier, retentionMs, Date.now(), budgetOf(tenant, timeMs));
}

/**
 * Answers from a tenant's index without reading samples. If a limit is exceeded, the call fails with the same error as
 * a query.
 */
export async function browse<T>(tenant: Tenant, range: TimeRange, read: (view: IndexView) => T): Promise<T> {
  try {
    return read(await new Querier(dependencies, tenant).view(range, budgetOf(tenant)));
  } catch (error) {
    throw error instanceof SelectLimitError ? promqlErrorOf(error) : error;
  }
}
