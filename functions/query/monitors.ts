import type { RouteHandlers } from '../../shared/http/handler';
import { HttpError, reply } from '../../shared/http/http';
import { sourceOf } from '../../shared/model/labels';
import { randomId } from '../../shared/model/random-id';
import { checkMonitor } from '../../shared/monitors/check-monitor';
import type { MonitorStores } from '../../shared/monitors/evaluate-monitors';
import { type PreviewOptions, previewMonitor } from '../../shared/monitors/preview-monitor';
import { SelectLimitError } from '../../shared/query/find-series';
import { promqlErrorOf } from '../../shared/query/tier-samples';
import type { Tenant } from '../../shared/tenancy/tenants';
import {
  catalogueOf,
  dependencies,
  downtimes,
  gatekeeper,
  hosts,
  monitorStates,
  monitors,
  queriesOf,
  services,
  stage,
} from './stores';

/** The stores that the evaluation of monitors reads. */
export const monitorStores: MonitorStores = {
  tenants: dependencies.tenants,
  monitors,
  states: monitorStates,
  downtimes,
  hosts,
  hostNames: (tenantId) => dependencies.hostLabels.of(tenantId),
  services,
  hasPosted,
  queriesOf,
  charge: (tenant, tookMs) => gatekeeper.queries.charge(tenant, tookMs),
  stage,
};

async function hasPosted(tenant: Tenant, hostId: string): Promise<boolean> {
  return Number.isFinite((await catalogueOf(tenant, sourceOf.host(hostId))).firstMs);
}

const DAY_S = 86_400;

/** Routes that evaluate a monitor over a past range, and store nothing. */
export const previewHandlers: RouteHandlers = {
  'POST /api/v1/monitors/preview': async ({ tenant, body: { monitor: spec, id, from, to } }) => {
    const nowS = Math.floor(Date.now() / 1000);
    const endS = Math.min(to ?? nowS, nowS);
    const startS = from ?? endS - DAY_S;
    if (startS >= endS)
      throw new HttpError(400, `from: ${startS} is not before to, ${endS}; both are seconds in the past`);
    const [allServices, names, allDowntimes, stored] = await Promise.all([
      services.list(tenant.id),
      dependencies.hostLabels.of(tenant.id),
      downtimes.list(tenant.id),
      id === undefined ? undefined : monitors.get(tenant.id, id),
    ]);
    checkMonitor(spec, allServices, Date.now(), stored);
    const queries = queriesOf(tenant);
    const { store, budget, options: query } = queries.begin();
    const options: PreviewOptions = {
      tenantId: tenant.id,
      store,
      hosts: names.hosts,
      hasPosted: (hostId) => hasPosted(tenant, hostId),
      query,
      view: { hosts: new Map(names.hosts.map((host) => [host.id, host])), services: allServices },
      downtimes: allDowntimes,
      range: { fromMs: startS * 1000, toMs: endS * 1000 },
      check: () => {
        if (budget.isLate())
          throw new HttpError(
            400,
            `from: evaluating this range takes more than ${queries.limits.seconds} s (the tenant's limit maxQuerySeconds); use a shorter range, or fewer hosts or series`,
          );
        const { signal } = budget;
        if (!signal.aborted) return;
        const { reason } = signal;
        if (reason instanceof SelectLimitError) throw new HttpError(400, promqlErrorOf(reason).message);
        throw reason;
      },
    };
    return reply(200, await previewMonitor({ ...spec, id: id ?? randomId() }, options));
  },
};
