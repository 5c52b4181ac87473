import type { Catalogue } from '../catalogue/catalogue';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import { HashSet } from '../model/hash-set';
import type { Id } from '../model/id';
import { seriesHashes } from '../model/layout-bytes';
import { hashesOfPacked } from '../model/layout-hashes';
import type { PackedLayout } from '../model/packed-layout';
import { type GroupId, sourceIdOfGroup } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { UsageTable } from './usage-table';

/** A layout that the catalogue lacked. */
export interface NewLayout extends PackedLayout {
  readonly group: GroupId;
  /** Whether the catalogue had no layout of its source. */
  readonly isOfNewSource: boolean;
}

const PARALLEL = 16;

/**
 * Counts new series as they are first seen, for the limit. The count is approximate: a crash loses some, which the next
 * count of the catalogue finds.
 */
export class SeriesCounter {
  /**
   * Series by source, as 53-bit hashes, for sources with recent new layouts. Two of 1,000 series collide in one of 10^10
   * sources, and the hourly count finds what was made to collide.
   */
  private readonly cache = new Cache<HashSet>(CACHES.countedSeries, (series) => 100 + series.bytes);

  constructor(
    private readonly catalogue: Catalogue,
    private readonly usage: UsageTable,
  ) {}

  /** Adds the series that no older layout of their source has. Never fails: samples come first. */
  async added(tenantId: Id, layouts: readonly NewLayout[]): Promise<void> {
    if (layouts.length === 0) return;
    try {
      const bySource = Map.groupBy(layouts, ({ group }) => sourceIdOfGroup(group));
      const counts = await mapLimited([...bySource], PARALLEL, ([sourceId, fresh]) =>
        this.countNew(tenantId, sourceId, fresh),
      );
      const added = counts.reduce((sum, count) => sum + count, 0);
      if (added > 0) await this.usage.addSeries(tenantId, added);
    } catch (error) {
      log.warn('new series were not counted', { error: error as Error });
    }
  }

  private async countNew(tenantId: Id, sourceId: Id, fresh: readonly NewLayout[]): Promise<number> {
    // The layouts of a source come one soon after the other, where a sender deals its series out to queues.
    const isNew = fresh.some(({ isOfNewSource }) => isOfNewSource);
    const known =
      this.cache.get(sourceId, tenantId) ??
      (isNew
        ? new HashSet(fresh.reduce((sum, { seriesCount }) => sum + seriesCount, 0))
        : await this.olderThan(tenantId, sourceId, fresh));
    const before = known.size;
    for (const layout of fresh) for (const series of hashesOfPacked(layout)) known.add(series);
    // Set again, because its size has changed.
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
