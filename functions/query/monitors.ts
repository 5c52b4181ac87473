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
import { queryLimitsOf, sharedSamplesOf } from './tenant-samples';

/** The stores that evaluating monitors reads. */
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
  samplesOf: sharedSamplesOf,
  queryLimitsOf,
  stage,
};
