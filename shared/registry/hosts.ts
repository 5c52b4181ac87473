import { type Id, idOf } from '../model/id';
import { isGivenId, randomId } from '../model/random-id';
import { mapLimited } from '../platform/concurrency';
import type { Table } from '../platform/table';
import { Documents } from './documents';

export const HOST_STATUSES = ['working', 'standby', 'maintenance', 'poweroff'] as const;
export type HostStatus = (typeof HOST_STATUSES)[number];

/** Hosts that are read side by side. */
const LANES = 16;

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

/** A host is retired, which is for ever: it can be read, and not changed. */
export class HostRetiredError extends Error {
  override readonly name = 'HostRetiredError';
}

/**
 * The hosts of a tenant, by id, and an index of them by custom identifier. Retired ones lie apart, so that lists do not
 * read every host there ever was.
 */
export class Hosts {
  /** Among them, for a moment, those that are about to lie apart. */
  private readonly hosts: Documents<Host>;
  private readonly retired: Documents<Host>;
  /**
   * Which hosts may have a custom identifier, written before the host has it and taken back when the host is retired,
   * which is for ever: what is found by it is held against the host itself. Upper and lower case share an entry.
   */
  private readonly byIdentifier: Documents<{ readonly hostId: string }>;

  constructor(
    table: Table,
    private readonly now: () => number = Date.now,
  ) {
    this.hosts = new Documents(table, 'hosts');
    this.retired = new Documents(table, 'retired-hosts');
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

  /** A host, retired or not. */
  async get(tenantId: Id, hostId: string): Promise<Host | undefined> {
    if (!isGivenId(hostId)) return undefined;
    return (await this.hosts.get(tenantId, hostId)) ?? this.retired.get(tenantId, hostId);
  }

  /** Hosts that are not retired, by id, from after the id `after` on. */
  async *list(tenantId: Id, after?: string): AsyncGenerator<Host> {
    for await (const { value } of this.hosts.list(tenantId, { after }))
      if (value.retiredAt === null) yield value;
  }

  /** Hosts with a custom identifier that are not retired, by id. */
  async withIdentifier(tenantId: Id, identifier: string, ignoreCase = false): Promise<Host[]> {
    const folded = (text: string) => (ignoreCase ? text.toLowerCase() : text);
    const entries: { readonly hostId: string }[] = [];
    for await (const { value } of this.byIdentifier.list(tenantId, { prefix: identifierKey(identifier) }))
      entries.push(value);
    const found = await mapLimited(entries, LANES, async ({ hostId }) => {
      const host = await this.hosts.get(tenantId, hostId);
      // Of a host retired meanwhile, or that an update came too late for.
      if (
        host === undefined
          ? (await this.retired.get(tenantId, hostId)) !== undefined
          : host.retiredAt !== null
      )
        await this.byIdentifier.remove(tenantId, identifierKey(identifier) + hostId);
      return host;
    });
    return found.filter(
      (host): host is Host =>
        host !== undefined &&
        host.retiredAt === null &&
        host.customIdentifier !== null &&
        folded(host.customIdentifier) === folded(identifier),
    );
  }

  /**
   * Changes a host that is not retired.
   *
   * @param change is called again whenever another writer came first
   * @returns the host as changed, or undefined when there is none
   * @throws {HostRetiredError}
   */
  async change(tenantId: Id, hostId: string, change: (host: Host) => Host): Promise<Host | undefined> {
    if (!isGivenId(hostId)) return undefined;
    const changed = await this.hosts.change(tenantId, hostId, (host) => change(active(host)));
    if (changed !== undefined) return changed;
    const retired = await this.retired.get(tenantId, hostId);
    return retired && active(retired);
  }

  /** To be called before a host is given a custom identifier. */
  async indexIdentifier(tenantId: Id, hostId: string, identifier: string | null): Promise<void> {
    if (identifier !== null)
      await this.byIdentifier.create(tenantId, identifierKey(identifier) + hostId, { hostId });
  }

  /** Retires a host, unless it is retired. @returns whether there is one */
  async retire(tenantId: Id, hostId: string): Promise<boolean> {
    if (!isGivenId(hostId)) return false;
    const host = await this.hosts.change(tenantId, hostId, (found) =>
      found.retiredAt === null ? { ...found, retiredAt: Math.floor(this.now() / 1000) } : found,
    );
    if (host === undefined) return (await this.retired.get(tenantId, hostId)) !== undefined;
    // There before it is not here: who looks here first finds it.
    await this.retired.create(tenantId, hostId, host);
    await this.hosts.remove(tenantId, hostId);
    if (host.customIdentifier !== null)
      await this.byIdentifier.remove(tenantId, identifierKey(host.customIdentifier) + hostId);
    return true;
  }
}

function active(host: Host): Host {
  if (host.retiredAt !== null) throw new HostRetiredError(`the host ${host.id} is retired`);
  return host;
}

function identifierKey(identifier: string): string {
  return `${idOf('customIdentifier', identifier.toLowerCase())}#`;
}
