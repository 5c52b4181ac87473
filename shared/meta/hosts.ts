import { type Id, idOf } from '../id';
import { Documents } from './documents';
import { isGivenId, randomId } from './random-id';
import type { Table } from './table';

export const HOST_STATUSES = ['working', 'standby', 'maintenance', 'poweroff'] as const;
export type HostStatus = (typeof HOST_STATUSES)[number];

/** What a client says of a host, but for its roles. */
export interface HostSpec {
  readonly name: string;
  readonly displayName: string | null;
  readonly customIdentifier: string | null;
  readonly memo: string;
  /** Echoed as posted. */
  readonly meta: Record<string, unknown>;
  readonly interfaces: readonly Record<string, unknown>[];
}

export interface Host extends HostSpec {
  readonly id: string;
  readonly status: HostStatus;
  /** Ids of roles; those of roles that were deleted meanwhile are no roles. */
  readonly roleIds: readonly string[];
  /** Seconds since epoch. */
  readonly createdAt: number;
  /** Seconds since epoch; null while it is not retired. */
  readonly retiredAt: number | null;
}

/** The hosts of a tenant, by id, and an index of them by custom identifier. */
export class Hosts {
  private readonly hosts: Documents<Host>;
  /**
   * Which hosts may have a custom identifier, written before the host has it and never taken back: what is found by it
   * is held against the host itself. Upper and lower case share an entry.
   */
  private readonly byIdentifier: Documents<{ readonly hostId: string }>;

  constructor(
    table: Table,
    private readonly now: () => number = Date.now,
  ) {
    this.hosts = new Documents(table, 'hosts');
    this.byIdentifier = new Documents(table, 'custom-identifiers');
  }

  async create(tenantId: Id, spec: HostSpec, roleIds: readonly string[]): Promise<Host> {
    for (;;) {
      const host: Host = {
        ...spec,
        id: randomId(),
        status: 'working',
        roleIds,
        createdAt: Math.floor(this.now() / 1000),
        retiredAt: null,
      };
      await this.indexIdentifier(tenantId, host.id, spec.customIdentifier);
      if (await this.hosts.create(tenantId, host.id, host)) return host;
    }
  }

  async get(tenantId: Id, hostId: string): Promise<Host | undefined> {
    return isGivenId(hostId) ? this.hosts.get(tenantId, hostId) : undefined;
  }

  /** Hosts that are not retired, by id, from after the id `after` on. */
  async *list(tenantId: Id, after?: string): AsyncGenerator<Host> {
    for await (const { value } of this.hosts.list(tenantId, { after }))
      if (value.retiredAt === null) yield value;
  }

  /** Hosts with a custom identifier that are not retired, by id. */
  async withIdentifier(tenantId: Id, identifier: string, ignoreCase = false): Promise<Host[]> {
    const wanted = ignoreCase ? identifier.toLowerCase() : identifier;
    const hosts: Host[] = [];
    for await (const { value } of this.byIdentifier.list(tenantId, { prefix: identifierKey(identifier) })) {
      const host = await this.hosts.get(tenantId, value.hostId);
      if (host === undefined || host.retiredAt !== null || host.customIdentifier === null) continue;
      const has = ignoreCase ? host.customIdentifier.toLowerCase() : host.customIdentifier;
      if (has === wanted) hosts.push(host);
    }
    return hosts;
  }

  /**
   * Changes a host that is there.
   *
   * @param change is called again whenever another writer came first; what it throws is thrown
   * @returns the host as changed, or undefined when there is none
   */
  async change(tenantId: Id, hostId: string, change: (host: Host) => Host): Promise<Host | undefined> {
    return isGivenId(hostId) ? this.hosts.change(tenantId, hostId, change) : undefined;
  }

  /** To be called before a host is given a custom identifier. */
  async indexIdentifier(tenantId: Id, hostId: string, identifier: string | null): Promise<void> {
    if (identifier !== null)
      await this.byIdentifier.create(tenantId, identifierKey(identifier) + hostId, { hostId });
  }

  retired(host: Host): Host {
    return host.retiredAt === null ? { ...host, retiredAt: Math.floor(this.now() / 1000) } : host;
  }
}

function identifierKey(identifier: string): string {
  return `${idOf('customIdentifier', identifier.toLowerCase())}#`;
}
