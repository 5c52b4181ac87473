import { sourceOf } from '../../shared/model/labels';
import type { MonitorStores } from '../../shared/monitors/evaluate-monitors';
import {
  catalogueOf,
  dependencies,
  downtimes,
  hosts,
  monitorStates,
  monitors,
  services,
  stage,
} from './stores';
import { budgetOf, queryLimitsOf, samplesOf } from './tenant-samples';

/** What the evaluation of monitors reads. */
export const monitorStores: MonitorStores = {
  tenants: dependencies.tenants,
  monitors,
  states: monitorStates,
  downtimes,
  hosts,
  hostNames: (tenantId) => dependencies.hostLabels.of(tenantId),
  services,
  hasPosted: async (tenant, hostId) =>
    Number.isFinite((await catalogueOf(tenant, sourceOf.host(hostId))).firstMs),
  samplesOf: (tenant, timeMs) => samplesOf(tenant, budgetOf(tenant, timeMs)),
  queryLimitsOf,
  stage,
};
