import type { SourceRows } from '../../shared/dictionary/series-source';
import { Cache } from '../../shared/model/cache';
import { CACHES } from '../../shared/model/cache-budgets';
import type { Id } from '../../shared/model/id';
import { mapLimited } from '../../shared/platform/concurrency';
import type { ParsedBody } from '../../shared/protocol/protocol';
import type { Hosts } from '../../shared/registry/hosts';
import type { Services } from '../../shared/registry/services';

/** Maximum number of registry look-ups that one request makes at the same time. */
const PARALLEL = 16;
/**
 * How long a host or service that was found is cached, in ms. An agent posts once a minute. If there are ten
 * instances of post, each of them sees the agent about every ten minutes. If the cache kept entries for only
 * ten minutes, nearly every post would look up its host.
 */
const FOUND_MS = 3_600_000;

/**
 * Checks which hosts and services exist in the registry. Each host or service that was found is cached for an hour. A
 * missing host or service is never cached, because another instance may create it at any moment. A look-up is one
 * consistent read. Tenants share the cache fairly.
 */
export class RegisteredSources {
  private readonly cache = new Cache<true>(CACHES.registeredSources, (_, key) => key.length, {
    ttlMs: FOUND_MS,
  });

  constructor(
    private readonly hosts: Hosts,
    private readonly services: Services,
  ) {}

  /**
   * Selects the sources of hosts that are registered and not retired.
   *
   * @returns these sources, the number of their samples, and `unknown`, the number of samples of other
   *   sources
   */
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
      tenantId,
      `service ${name}`,
      async () => (await this.services.get(tenantId, name)) !== undefined,
    );
  }

  private hasHost(tenantId: Id, hostId: string): Promise<boolean> {
    return this.find(tenantId, `host ${hostId}`, async () => {
      const host = await this.hosts.get(tenantId, hostId);
      return host !== undefined && host.retiredAt === null;
    });
  }

  private async find(tenantId: Id, key: string, lookUp: () => Promise<boolean>): Promise<boolean> {
    if (this.cache.get(key, tenantId) === true) return true;
    const found = await lookUp();
    if (found) this.cache.set(key, true, tenantId);
    return found;
  }
}
