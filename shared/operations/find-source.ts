import type { Catalogue } from '../catalogue/catalogue';
import { metricNames } from '../catalogue/source-series';
import { type Labels, sourceOf } from '../model/labels';
import { sourceIdOf } from '../model/placement';
import { showText } from '../model/shown-value';
import { InvalidEventError } from '../platform/event';
import type { Host, Hosts } from '../registry/hosts';
import type { Services } from '../registry/services';
import type { Tenant } from '../tenancy/tenants';

export interface SourceStores {
  readonly hosts: Pick<Hosts, 'get' | 'list'>;
  readonly services: Pick<Services, 'get'>;
  readonly catalogue: Pick<Catalogue, 'source'>;
}

/** The host or service that an operator names in a command. Exactly one field must be set. */
export interface SourceName {
  /** The host's id or name. */
  readonly host?: string;
  readonly service?: string;
}

/** A host or service that is registered or has samples. */
export interface SourceDetails {
  readonly kind: 'host' | 'service';
  /** The host's id, or the service's name. */
  readonly id: string;
  /** Text for messages: `host web1 (2u4PP3TJqbu)`. */
  readonly text: string;
  readonly labels: Labels;
  /** Metrics posted by the source, sorted by name. */
  readonly metrics: readonly string[];
}

/** Maximum number of host ids listed in a message. */
const MAX_LISTED = 10;

/**
 * Finds a host or service. A host is looked up by its id, then by the label `host` of samples posted without
 * registration, then by the name of an active host.
 *
 * @throws {InvalidEventError} if no host or service is found, or several hosts have the name
 */
export async function findSource(
  stores: SourceStores,
  tenant: Tenant,
  { host, service }: SourceName,
): Promise<SourceDetails> {
  if (host !== undefined && service === undefined) return findHost(stores, tenant, host);
  if (service !== undefined && host === undefined) return findService(stores, tenant, service);
  throw new InvalidEventError('give either a host or a service');
}

async function findHost(stores: SourceStores, tenant: Tenant, text: string): Promise<SourceDetails> {
  const registered = await stores.hosts.get(tenant.id, text);
  if (registered !== undefined) return readSource(stores, tenant, 'host', text, registered.name);
  const posted = await readSource(stores, tenant, 'host', text);
  if (posted.metrics.length > 0) return posted;
  const named: Host[] = [];
  for await (const host of stores.hosts.list(tenant.id)) if (host.name === text) named.push(host);
  const [only] = named;
  if (only === undefined)
    throw new InvalidEventError(`tenant ${tenant.name} has no host with the id or name ${showText(text)}`);
  if (named.length > 1)
    throw new InvalidEventError(
      `${named.length} hosts are named ${showText(text)}; give one's id: ${named
        .slice(0, MAX_LISTED)
        .map(({ id }) => id)
        .join(', ')}${named.length > MAX_LISTED ? ', ...' : ''}`,
    );
  return readSource(stores, tenant, 'host', only.id, only.name);
}

async function findService(stores: SourceStores, tenant: Tenant, name: string): Promise<SourceDetails> {
  const [registered, posted] = await Promise.all([
    stores.services.get(tenant.id, name),
    readSource(stores, tenant, 'service', name),
  ]);
  // A deleted service may still have samples.
  if (registered === undefined && posted.metrics.length === 0)
    throw new InvalidEventError(`tenant ${tenant.name} has no service ${showText(name)}`);
  return posted;
}

async function readSource(
  { catalogue }: SourceStores,
  tenant: Tenant,
  kind: 'host' | 'service',
  id: string,
  name?: string,
): Promise<SourceDetails> {
  const labels = sourceOf[kind](id);
  const metrics = metricNames(await catalogue.source(tenant.id, sourceIdOf(tenant.id, labels)));
  return {
    kind,
    id,
    text: name === undefined ? `${kind} ${id}` : `${kind} ${name} (${id})`,
    labels,
    metrics,
  };
}
