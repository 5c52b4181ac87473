import { LRUCache } from 'lru-cache';
import type { Id } from '../model/id';
import type { Labels } from '../model/labels';
import type { Hosts } from './hosts';
import { rolesByService, type Services } from './services';

/** The labels that a registered host's series have beside the stored ones. */
export const HOST_LABELS = ['hostname', 'role', 'service'] as const;

/** A tenant's hosts are read again after this, ms, so roles are at most so old. */
const FRESH_MS = 10_000;
/** And after this for each host, since one of a real agent is 5 KB: 100 s for 10,000. */
const FRESH_MS_PER_HOST = 10;
/** Tenants whose hosts are kept. */
const MAX_TENANTS = 8;

/** What a tenant's registered hosts are called and which roles they have, as labels of their series. Cached. */
export class HostLabels {
  private readonly known = new LRUCache<Id, Promise<ReadonlyMap<string, Labels>>>({
    max: MAX_TENANTS,
    ttl: FRESH_MS,
  });

  constructor(
    private readonly hosts: Pick<Hosts, 'list'>,
    private readonly services: Pick<Services, 'list'>,
  ) {}

  /**
   * The labels of a tenant's hosts by host id, sorted by name: `hostname`, and `service` and `role` if it has a role. Several
   * services or roles are joined by commas. Retired hosts have none.
   */
  of(tenantId: Id): Promise<ReadonlyMap<string, Labels>> {
    const copy = this.known.get(tenantId);
    if (copy !== undefined) return copy;
    const reading = this.read(tenantId);
    this.known.set(tenantId, reading);
    reading.then(
      ({ size }) => {
        this.known.set(tenantId, reading, { ttl: Math.max(FRESH_MS, FRESH_MS_PER_HOST * size) });
      },
      () => this.known.delete(tenantId),
    );
    return reading;
  }

  private async read(tenantId: Id): Promise<ReadonlyMap<string, Labels>> {
    const rolesOf = rolesByService(await this.services.list(tenantId));
    const labels = new Map<string, Labels>();
    for await (const { id, name, roleIds } of this.hosts.list(tenantId))
      labels.set(id, labelsOfHost(name, rolesOf(roleIds)));
    return labels;
  }
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
