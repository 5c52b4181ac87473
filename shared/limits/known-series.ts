import { LRUCache } from 'lru-cache';
import { mapLimited } from '../concurrency';
import type { Labels } from '../labels';
import type { Catalogue } from '../meta/catalogue';
import type { Tenant } from '../meta/tenants';
import { sourceIdOf } from '../placement';
import type { SourcePoints } from '../post/points';
import { metricNames } from '../query/metric-names';

const PARALLEL = 16;
const KNOWN_MS = 30_000;

/** Which series there are: asked only for tenants that may have no new ones. */
export class KnownSeries {
  private readonly names = new LRUCache<string, ReadonlySet<string>>({
    ttl: KNOWN_MS,
    maxSize: 1_000_000,
    sizeCalculation: (names) => names.size + 1,
  });

  constructor(private readonly catalogue: Catalogue) {}

  /** Keeps the samples of series that are known. */
  async keep(
    tenant: Tenant,
    sources: readonly (readonly [Labels, SourcePoints])[],
  ): Promise<{ readonly kept: [Labels, SourcePoints][]; readonly dropped: number }> {
    let dropped = 0;
    const kept = await mapLimited(sources, PARALLEL, async ([source, points]) => {
      const known = await this.namesOf(tenant, source);
      const left: SourcePoints = new Map();
      for (const [timestamp, values] of points) {
        const old = new Map([...values].filter(([name]) => known.has(name)));
        dropped += values.size - old.size;
        if (old.size > 0) left.set(timestamp, old);
      }
      return [source, left] as [Labels, SourcePoints];
    });
    return { kept: kept.filter(([, points]) => points.size > 0), dropped };
  }

  private async namesOf(tenant: Tenant, source: Labels): Promise<ReadonlySet<string>> {
    const sourceId = sourceIdOf(tenant.id, source);
    const copy = this.names.get(sourceId);
    if (copy !== undefined) return copy;
    const names = new Set(metricNames(await this.catalogue.source(tenant.id, sourceId)));
    this.names.set(sourceId, names);
    return names;
  }
}
