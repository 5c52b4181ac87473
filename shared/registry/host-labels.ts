import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import type { Labels } from '../model/labels';
import type { Host, Hosts } from './hosts';
import { rolesByService, type Services } from './services';

/** The labels that a registered host's series have beside the stored ones. */
export const HOST_LABELS = ['hostname', 'role', 'service'] as const;

/** A tenant's hosts are read again after this, ms, so roles are at most so old. */
const FRESH_MS = 10_000;
/** And after this for each host, since one of a real agent is 5 KB: 100 s for 10,000. */
const FRESH_MS_PER_HOST = 10;
/** Approximate memory of a host in a copy. */
const HOST_BYTES = 1_500;
/** Characters of a host's memo that a copy keeps. */
const MAX_MEMO = 250;

/** A host as the registry knows it, without its spec. */
export interface RegisteredHost extends Pick<Host, 'id' | 'name' | 'status' | 'createdAt' | 'memo'> {
  /** Names of roles by service. */
  readonly roles: Readonly<Record<string, readonly string[]>>;
}

/** The labels of a tenant's hosts by host id. */
export interface HostNames {
  readonly names: typeof HOST_LABELS;
  readonly of: (host: string) => Labels | undefined;
  /** The hosts that have labels, sorted by id. */
  readonly hosts: readonly RegisteredHost[];
  /** Another after each reading. */
  readonly version: number;
}

/** What a tenant's registered hosts are called and which roles they have, as labels of their series. Cached. */
export class HostLabels {
  private readonly cache = new Cache<HostCopy>(CACHES.hostLabels, ({ hosts }) => HOST_BYTES * (hosts + 1));

  private versions = 0;

  constructor(
    private readonly hosts: Pick<Hosts, 'list'>,
    private readonly services: Pick<Services, 'list'>,
  ) {}

  /**
   * The labels of a tenant's hosts by host id, sorted by name: `hostname`, and `service` and `role` if it has a role. Several
   * services or roles are joined by commas. Retired hosts have none.
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
      version: ++this.versions,
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
  /** 0 until they are read. */
  readonly hosts: number;
}

/** @param roles names of roles by service */
export function labelsOfHost(name: string, roles: Readonly<Record<string, readonly string[]>>): Labels {
  const services = Object.keys(roles).sort();
  if (services.length === 0) return [['hostname', name]];
  const names = new Set(services.flatMap((service) => roles[service]!));
  return [
    ['hostname', name],
    ['role', [...names].sort().join(',')],
    ['service', services.join(',')],
  ];
}
