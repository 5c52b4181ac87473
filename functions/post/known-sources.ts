import { LRUCache } from 'lru-cache';
import type { Id } from '../../shared/model/id';
import { mapLimited } from '../../shared/platform/concurrency';
import type { ParsedBody, SourceRows } from '../../shared/protocol/protocol';
import type { Hosts } from '../../shared/registry/hosts';
import type { Services } from '../../shared/registry/services';

/** Registry look-ups in flight for one request. */
const PARALLEL = 16;
/** mackerel-agent posts once a minute: with a shorter time nearly every post would look its host up. */
const FOUND_MS = 600_000;
const MISSED_MS = 2_000;

/** Cache of the registry's hosts and services: found ones for ten minutes, misses for two seconds. */
export class KnownSources {
  private readonly cache = new LRUCache<string, boolean>({ max: 100_000 });

  constructor(
    private readonly hosts: Hosts,
    private readonly services: Services,
  ) {}

  /** Splits sources into those of registered hosts that are not retired, and the number of samples of all others. */
  async keepHosts(
    tenantId: Id,
    { sources, samples }: ParsedBody<unknown>,
    hostIdOf: (source: SourceRows) => string,
  ): Promise<{ readonly kept: SourceRows[]; readonly samples: number; readonly unknown: number }> {
    const isKnown = await mapLimited(sources, PARALLEL, (source) => this.hasHost(tenantId, hostIdOf(source)));
    const unknown = sources
      .filter((_, i) => !isKnown[i])
      .flatMap(([, rows]) => rows)
      .reduce((sum, { values }) => sum + values.length, 0);
    return { kept: sources.filter((_, i) => isKnown[i]), samples: samples - unknown, unknown };
  }

  hasService(tenantId: Id, name: string): Promise<boolean> {
    return this.find(
      `service ${tenantId} ${name}`,
      async () => (await this.services.get(tenantId, name)) !== undefined,
    );
  }

  private hasHost(tenantId: Id, hostId: string): Promise<boolean> {
    return this.find(`host ${tenantId} ${hostId}`, async () => {
      const host = await this.hosts.get(tenantId, hostId);
      return host !== undefined && host.retiredAt === null;
    });
  }

  private async find(key: string, look: () => Promise<boolean>): Promise<boolean> {
    const cached = this.cache.get(key);
    if (cached !== undefined) return cached;
    const found = await look();
    this.cache.set(key, found, { ttl: found ? FOUND_MS : MISSED_MS });
    return found;
  }
}
