import type { Catalogue } from '../catalogue/catalogue';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import { hashesOfChecked } from '../model/checked-layouts';
import { HashSet } from '../model/hash-set';
import type { Id } from '../model/id';
import { seriesHashes } from '../model/layout-bytes';
import type { PackedLayout } from '../model/packed-layout';
import { type GroupId, sourceIdOfGroup } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { UsageTable } from './usage-table';

/** A layout that was not in the catalogue yet. */
export interface NewLayout extends PackedLayout {
  readonly group: GroupId;
  /** Whether the layout's source was new to the catalogue, too. */
  readonly isOfNewSource: boolean;
}

const PARALLEL = 16;

/**
 * Counts new series when they are first seen, to enforce the limit. The count is approximate: a crash loses
 * some, and the hourly count of the catalogue corrects it.
 */
export class SeriesCounter {
  /**
   * 53-bit hashes of the series of sources that recently had new layouts. By chance, hashes collide in one of 10^10
   * sources of 1,000 series. If a sender makes them collide on purpose, the hourly count corrects the result.
   */
  private readonly cache = new Cache<HashSet>(CACHES.countedSeries, (series) => 100 + series.bytes);

  constructor(
    private readonly catalogue: Catalogue,
    private readonly usage: UsageTable,
  ) {}

  /**
   * Adds the series that no older layout of their source has. Never fails, because storing samples matters
   * more than counting series.
   */
  async countAdded(tenantId: Id, layouts: readonly NewLayout[]): Promise<void> {
    if (layouts.length === 0) return;
    try {
      const bySource = Map.groupBy(layouts, ({ group }) => sourceIdOfGroup(group));
      const counts = await mapLimited([...bySource], PARALLEL, ([sourceId, fresh]) =>
        this.countNew(tenantId, sourceId, fresh),
      );
      const added = counts.reduce((sum, count) => sum + count, 0);
      if (added > 0) await this.usage.addSeries(tenantId, added);
    } catch (error) {
      log.warn('new series were not counted; the next hourly count includes them', { error });
    }
  }

  private async countNew(tenantId: Id, sourceId: Id, fresh: readonly NewLayout[]): Promise<number> {
    // A source's series may come through several queues. Its sender then makes several layouts of the source in quick
    // succession.
    const isNew = fresh.some(({ isOfNewSource }) => isOfNewSource);
    const known =
      this.cache.get(sourceId, tenantId) ??
      (isNew
        ? new HashSet(fresh.reduce((sum, { seriesCount }) => sum + seriesCount, 0))
        : await this.olderThan(tenantId, sourceId, fresh));
    const before = known.size;
    for (const layout of fresh) for (const series of hashesOfChecked(layout)) known.add(series);
    // Set the entry again, so that the cache updates the entry's size.
    this.cache.set(sourceId, known, tenantId);
    return known.size - before;
  }

  private async olderThan(tenantId: Id, sourceId: Id, fresh: readonly NewLayout[]): Promise<HashSet> {
    const isFresh = new Set(fresh.map(({ id }) => id));
    const series = new HashSet();
    const { layouts } = await this.catalogue.source(tenantId, sourceId);
    for (const layout of [...layouts.values()].flat())
      if (!isFresh.has(layout.id)) for (const hash of seriesHashes(layout.bytes)) series.add(hash);
    return series;
  }
}
