import type { Catalogue } from '../catalogue/catalogue';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import { hashesOfChecked } from '../model/checked-layouts';
import type { Id } from '../model/id';
import { distinctHashes, mergeHashes, seriesHashes } from '../model/layout-bytes';
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
const NO_HASHES = new Float64Array(0);

/**
 * Counts new series when they are first posted, to enforce the series limit. The count is approximate: a
 * crash loses some new series. The hourly count of the catalogue corrects it.
 */
export class SeriesCounter {
  /**
   * Distinct 53-bit hashes of the series of sources that recently had new layouts. Hashes collide by chance in
   * about one of 10^10 sources with 1,000 series. If a sender makes hashes collide on purpose, the hourly count
   * corrects the result.
   */
  private readonly cache = new Cache<Float64Array>(CACHES.countedSeries, (hashes) => 200 + hashes.byteLength);

  constructor(
    private readonly catalogue: Catalogue,
    private readonly usage: UsageTable,
  ) {}

  /**
   * Adds to the tenant's count all series of the new layouts that are in no older layout of the same source. Never
   * fails, because storing samples matters more than counting series.
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
    // A sender such as Prometheus may send a source's series through several queues, which creates several
    // layouts of the source in quick succession. So look for the series of earlier layouts in the cache
    // first.
    const isNew = fresh.some(({ isOfNewSource }) => isOfNewSource);
    const known =
      this.cache.get(sourceId, tenantId) ??
      (isNew ? NO_HASHES : await this.olderThan(tenantId, sourceId, fresh));
    const all = mergeHashes(known, distinctHashes(fresh.map(hashesOfChecked)));
    this.cache.set(sourceId, all, tenantId);
    return all.length - known.length;
  }

  private async olderThan(tenantId: Id, sourceId: Id, fresh: readonly NewLayout[]): Promise<Float64Array> {
    const isFresh = new Set(fresh.map(({ id }) => id));
    const { layouts } = await this.catalogue.source(tenantId, sourceId);
    const older = [...layouts.values()].flat().filter(({ id }) => !isFresh.has(id));
    return distinctHashes(older.map(({ bytes }) => seriesHashes(bytes)));
  }
}
