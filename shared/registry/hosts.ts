import { type Id, idOf } from '../model/id';
import { isGivenId, randomId } from '../model/random-id';
import { mapLimited } from '../platform/concurrency';
import type { Table } from '../platform/table';
import { Documents } from './documents';
import { RefusedError } from './refused';

export const HOST_STATUSES = ['working', 'standby', 'maintenance', 'poweroff'] as const;
export type HostStatus = (typeof HOST_STATUSES)[number];

const PARALLEL = 16;
/** Maximum size of a host's spec as JSON, in bytes. A host is one DynamoDB item of at most 400 KB. */
const MAX_HOST_BYTES = 256 * 1024;

/** A host as its client describes it, without its roles. */
export interface HostSpec {
  readonly name: string;
  readonly displayName: string | null;
  readonly customIdentifier: string | null;
  readonly memo: string;
  /** Metadata as the agent posted it. */
  readonly meta: Record<string, unknown>;
  readonly interfaces: readonly Record<string, unknown>[];
}

export interface Host extends HostSpec {
  readonly id: string;
  readonly status: HostStatus;
  /** Ids of the host's roles. They may include ids of deleted roles, which readers ignore. */
  readonly roleIds: readonly string[];
  /** Unix time in seconds. */
  readonly createdAt: number;
  /** Unix time in seconds; null while the host is not retired. */
  readonly retiredAt: number | null;
}

/**
 * Stores a tenant's hosts by id, with an index by custom identifier. A retired host can be read, but never
 * changed or reactivated. Retired hosts are documents of another kind, so that listing the active hosts does
 * not read them.
 */
export class Hosts {
  /** Active hosts. A host that is being retired stays here for a moment, until it has been moved to `retired`. */
  private readonly hosts: Documents<Host>;
  private readonly retired: Documents<Host>;
  /**
   * Index of hosts by lower-case custom identifier. An entry is written before the host is given the identifier, and
   * removed when the host is retired. So a reader must check that the host itself has the identifier.
   */
  private readonly byIdentifier: Documents<{ readonly hostId: string }>;

  constructor(table: Table) {
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
        createdAt: Math.floor(Date.now() / 1000),
        retiredAt: null,
      };
      await this.indexIdentifier(tenantId, host.id, spec.customIdentifier);
      if (await this.hosts.create(tenantId, host.id, host)) return host;
    }
  }

  /** Returns a host, active or retired. */
  async get(tenantId: Id, hostId: string): Promise<Host | undefined> {
    if (!isGivenId(hostId)) return undefined;
    return (await this.hosts.get(tenantId, hostId)) ?? this.retired.get(tenantId, hostId);
  }

  /** Yields the active hosts after the id `after`, sorted by id. */
  async *list(tenantId: Id, after?: string): AsyncGenerator<Host> {
    for await (const { value } of this.hosts.list(tenantId, { after }))
      if (value.retiredAt === null) yield value;
  }

  /** Returns the active hosts with a custom identifier, sorted by id. */
  async withIdentifier(tenantId: Id, identifier: string, ignoreCase = false): Promise<Host[]> {
    const folded = (text: string) => (ignoreCase ? text.toLowerCase() : text);
    const entries = await this.byIdentifier.all(tenantId, identifierKey(identifier));
    const found = await mapLimited(entries, PARALLEL, async ({ hostId }) => {
      const host = await this.hosts.get(tenantId, hostId);
      // If the host is retired, remove its index entry. The entry is left from a retirement that was
      // interrupted, or from an update that wrote it after the host was retired.
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
   * Changes a host.
   *
   * @param change called again after each lost race
   * @returns the changed host; undefined when the id is unknown
   * @throws {RefusedError} when the host is retired
   */
  async change(tenantId: Id, hostId: string, change: (host: Host) => Host): Promise<Host | undefined> {
    if (!isGivenId(hostId)) return undefined;
    const changed = await this.hosts.change(tenantId, hostId, (host) => change(requireActive(host)));
    if (changed !== undefined) return changed;
    const retired = await this.retired.get(tenantId, hostId);
    return retired && requireActive(retired);
  }

  /** Indexes a custom identifier; call it before the host is given the identifier. */
  async indexIdentifier(tenantId: Id, hostId: string, identifier: string | null): Promise<void> {
    if (identifier !== null)
      await this.byIdentifier.create(tenantId, identifierKey(identifier) + hostId, { hostId });
  }

  /**
   * Retires a host. Safe to retry.
   *
   * @returns `now` for the one call that copied it to the retired hosts, `before` for all others; undefined when the id
   *   is unknown
   */
  async retire(tenantId: Id, hostId: string): Promise<'now' | 'before' | undefined> {
    if (!isGivenId(hostId)) return undefined;
    const host = await this.hosts.change(tenantId, hostId, (found) =>
      found.retiredAt === null ? { ...found, retiredAt: Math.floor(Date.now() / 1000) } : found,
    );
    if (host === undefined) return (await this.retired.get(tenantId, hostId)) && 'before';
    // Copy the host before removing it, because readers look in `hosts` first, then in `retired`.
    // The copy also decides which of several concurrent calls has retired the host: `remove` cannot tell, since it
    // returns the host to each call that has found it.
    const isFirst = await this.retired.create(tenantId, hostId, host);
    await this.hosts.remove(tenantId, hostId);
    if (host.customIdentifier !== null)
      await this.byIdentifier.remove(tenantId, identifierKey(host.customIdentifier) + hostId);
    return isFirst ? 'now' : 'before';
  }
}

/** @throws {RefusedError} when the host is retired */
export function requireActive(host: Host): Host {
  if (host.retiredAt !== null) throw new RefusedError(`the host ${host.id} is retired and cannot be changed`);
  return host;
}

/**
 * @throws {RefusedError} when the host would not fit a DynamoDB item
 */
export function requireFits(spec: HostSpec): void {
  const bytes = Buffer.byteLength(JSON.stringify(spec));
  if (bytes > MAX_HOST_BYTES)
    throw new RefusedError(`the host has ${bytes} bytes; at most ${MAX_HOST_BYTES} are allowed`, true);
}

function identifierKey(identifier: string): string {
  return `${idOf('customIdentifier', identifier.toLowerCase())}#`;
}
