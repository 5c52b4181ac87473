import type { SelectLimits } from '../../shared/query/find-series';
import { Querier } from '../../shared/query/select';
import { limitsOf } from '../../shared/tenancy/limits';
import type { Tenant } from '../../shared/tenancy/tenants';
import { TierSamples } from './sample-store';
import { dependencies, retentionMs, stage } from './stores';

/** What one query of a tenant may read. */
export function queryLimitsOf({ limits }: Tenant): SelectLimits & { readonly querySeconds: number } {
  const { querySeries, querySources, querySamples, querySeconds } = limitsOf(stage, limits);
  return { series: querySeries, sources: querySources, samples: querySamples, querySeconds };
}

/** A tenant's samples, for one request. */
export function samplesOf(tenant: Tenant): TierSamples {
  return new TierSamples(new Querier(dependencies, tenant), retentionMs, Date.now(), queryLimitsOf(tenant));
}
