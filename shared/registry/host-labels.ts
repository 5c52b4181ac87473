import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import type { Labels } from '../model/labels';
import type { Host, Hosts } from './hosts';
import { rolesByService, type Services } from './services';

/** Labels that reads add to the stored labels of a registered host's series. */
export const HOST_LABELS = ['hostname', 'role', 'service'] as const;

/**
 * Minimum lifetime of a tenant's cached hosts, in ms. If the tenant has at most 1,000 hosts, reads show a new
 * role within this time.
 */
const FRESH_MS = 10_000;
/**
 * A tenant's cached hosts live for this time multiplied by their number, in ms, but at least for
 * {@link FRESH_MS}. So 10,000 hosts are read only every 100 s, which limits the cost: the item of a host with a
 * real agent takes 5 KB.
 */
const FRESH_MS_PER_HOST = 10;
/** Approximate memory of a cached host, in bytes. */
const HOST_BYTES = 1_500;
/** Maximum length of a cached memo, in characters. Longer memos are cut. */
const MAX_MEMO = 250;

/** A registered host as it is cached: only the fields that reads and monitors need. */
export interface RegisteredHost extends Pick<Host, 'id' | 'name' | 'status' | 'createdAt' | 'memo'> {
  /** Names of the host's roles, by service. */
  readonly roles: Readonly<Record<string, readonly string[]>>;
}

/** A tenant's registered hosts, and the labels that reads add to their series. */
export interface HostNames {
  readonly names: typeof HOST_LABELS;
  readonly of: (host: string) => Labels | undefined;
  /** The active hosts, sorted by id. */
  readonly hosts: readonly RegisteredHost[];
  /** Number that changes each time the hosts are read again. */
  readonly generation: number;
}

/**
 * Caches the names and roles of tenants' registered hosts, which reads add as labels to the hosts' series.
 */
export class HostLabels {
  private readonly cache = new Cache<HostCopy>(CACHES.hostLabels, ({ hosts }) => HOST_BYTES * (hosts + 1));

  private generations = 0;

  constructor(
    private readonly hosts: Pick<Hosts, 'list'>,
    private readonly services: Pick<Services, 'list'>,
  ) {}

  /**
   * Returns a tenant's active hosts with their labels: `hostname`, and `role` and `service` if the host has a
   * role. Several roles or services are joined by commas. Labels are sorted by name.
   */
  of(tenantId: Id): Promise<HostNames> {
    const copy = this.cache.get(tenantId, tenantId);
    if (copy !== undefined) return copy.reading;
    const reading = this.read(tenantId);
    this.cache.set(tenantId, { reading, hosts: 0 }, tenantId, FRESH_MS);
    reading.then(
      ({ hosts }) => {
        const freshMs = Math.max(FRESH_MS, FRESH_MS_PER_HOST * hosts.length);
        this.cache.set(tenantId, { reading, hosts: hosts.length }, tenantId, freshMs);
      },
      () => this.cache.delete(tenantId, tenantId),
    );
    return reading;
  }

  private async read(tenantId: Id): Promise<HostNames> {
    const [services, all] = await Promise.all([this.services.list(tenantId), this.factsOf(tenantId)]);
    const rolesOf = rolesByService(services);
    const hosts = all.map(({ roleIds, ...host }): RegisteredHost => ({ ...host, roles: rolesOf(roleIds) }));
    const labels = new Map(hosts.map(({ id, name, roles }) => [id, labelsOfHost(name, roles)] as const));
    return {
      names: HOST_LABELS,
      of: (host) => labels.get(host),
      hosts,
      generation: ++this.generations,
    };
  }

  private async factsOf(tenantId: Id): Promise<HostFacts[]> {
    const all: HostFacts[] = [];
    for await (const { id, name, status, createdAt, memo, roleIds } of this.hosts.list(tenantId))
      all.push({ id, name, status, createdAt, memo: memo.slice(0, MAX_MEMO), roleIds });
    return all;
  }
}

type HostFacts = Omit<RegisteredHost, 'roles'> & Pick<Host, 'roleIds'>;

interface HostCopy {
  readonly reading: Promise<HostNames>;
  /** Number of hosts read; 0 until all have been read. */
  readonly hosts: number;
}

/**
 * Returns the labels that reads add to the series of a host.
 *
 * @param roles names of roles, by service
 */
function labelsOfHost(name: string, roles: Readonly<Record<string, readonly string[]>>): Labels {
  const services = Object.keys(roles).sort();
  if (services.length === 0) return [['hostname', name]];
  const names = new Set(services.flatMap((service) => roles[service]!));
  return [
    ['hostname', name],
    ['role', [...names].sort().join(',')],
    ['service', services.join(',')],
  ];
}
