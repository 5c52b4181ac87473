import type { SourceCatalogue } from '../../shared/catalogue/catalogue';
import { queryDependencies } from '../../shared/compose/query';
import { requireFound } from '../../shared/http/http';
import { type Labels, sourceOf } from '../../shared/model/labels';
import { sourceIdOf } from '../../shared/model/placement';
import { showText } from '../../shared/model/shown-value';
import type { Tenant } from '../../shared/tenancy/tenants';

export const {
  services,
  monitors,
  monitorStates,
  downtimes,
  dependencies,
  governor,
  hosts,
  metricMetadata,
  receivers,
  ruleGroups,
  ruleStates,
  silences,
  gatekeeper,
  status,
  queriesOf,
  retentionMs,
  stage,
} = queryDependencies();

/** A source that Mackerel's API can name: a host or a service in the registry. */
export interface RegisteredSource {
  readonly tenant: Tenant;
  readonly labels: Labels;
  /** Text for messages, such as `host "3Xyz"`. */
  readonly text: string;
  /** @throws {HttpError} 404 if the host or service is not in the registry */
  readonly mustExist: () => Promise<void>;
}

export function hostSource(tenant: Tenant, hostId: string): RegisteredSource {
  const mustExist = async () => {
    requireFound('host', hostId, await hosts.get(tenant.id, hostId));
  };
  return { tenant, labels: sourceOf.host(hostId), text: `host ${showText(hostId)}`, mustExist };
}

export function serviceSource(tenant: Tenant, name: string): RegisteredSource {
  const mustExist = async () => {
    requireFound('service', name, await services.get(tenant.id, name));
  };
  return { tenant, labels: sourceOf.service(name), text: `service ${showText(name)}`, mustExist };
}

export function catalogueOf(tenant: Tenant, source: Labels): Promise<SourceCatalogue> {
  return dependencies.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
}
