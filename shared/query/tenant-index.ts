import { LRUCache } from 'lru-cache';
import type { Catalogue } from '../catalogue/catalogue';
import { SeriesIndex } from '../catalogue/series-index';
import type { Id } from '../model/id';
import type { TimeRange } from '../model/selection';
import { splitLayout } from '../model/shape';
import { mapLimited } from '../platform/concurrency';

/** Sources read in parallel. */
const PARALLEL = 32;
/** How long an index is used before it is read again. */
const FRESH_MS = 1000;
/** Tenants whose indexes are kept. */
const MAX_TENANTS = 8;

/** Each tenant's series in memory, read from the catalogue when it is first asked for, and again when it has aged. */
export class TenantIndexes {
  private readonly indexes = new LRUCache<
    Id,
    { readonly index: Promise<SeriesIndex>; readonly atMs: number }
  >({
    max: MAX_TENANTS,
  });

  constructor(
    private readonly catalogue: Pick<Catalogue, 'source' | 'sources'>,
    private readonly now: () => number,
  ) {}

  /** The index, and the bits of the epochs that the range touches. */
  async of(
    tenantId: Id,
    _range: TimeRange,
  ): Promise<{ readonly index: SeriesIndex; readonly epochs: number }> {
    return { index: await this.fresh(tenantId), epochs: ALL_TIME };
  }

  private fresh(tenantId: Id): Promise<SeriesIndex> {
    const known = this.indexes.get(tenantId);
    if (known !== undefined && this.now() - known.atMs < FRESH_MS) return known.index;
    const index = this.read(tenantId);
    this.indexes.set(tenantId, { index, atMs: this.now() });
    index.catch(() => this.indexes.delete(tenantId));
    return index;
  }

  private async read(tenantId: Id): Promise<SeriesIndex> {
    const sources: Id[] = [];
    for await (const id of this.catalogue.sources(tenantId)) sources.push(id);
    const index = new SeriesIndex();
    await mapLimited(sources, PARALLEL, async (sourceId) => {
      const { layouts } = await this.catalogue.source(tenantId, sourceId);
      for (const [group, known] of layouts)
        for (const { id, bytes } of known) {
          const { common, shape } = splitLayout(bytes);
          index.addShape(shape);
          index.add({ group, layoutId: id, common, shapeId: shape.id }, ALL_TIME);
        }
    });
    return index;
  }
}

/** The one epoch: layouts are not yet told apart by time. */
const ALL_TIME = 1;
