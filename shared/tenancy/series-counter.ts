import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Catalogue } from '../catalogue/catalogue';
import type { Id } from '../model/id';
import { decodeLayout, type PackedLayout, unpackLayout } from '../model/layout';
import { type GroupId, sourceIdOfGroup } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { UsageTable } from './usage-table';

/** A layout that the catalogue did not have before. */
export interface NewLayout extends PackedLayout {
  readonly group: GroupId;
  /** Whether its source had none before. */
  readonly isOfNewSource: boolean;
}

const PARALLEL = 16;
/** Series of all sources that are remembered. */
const MAX_REMEMBERED = 1_000_000;

/**
 * Counts new series where they are first seen, for the limit. About right: what a crash loses is found when the
 * catalogue is counted again.
 */
export class SeriesCounter {
  /** Series of the sources that had new layouts lately, by source. */
  private readonly known = new LRUCache<Id, Set<number>>({
    maxSize: MAX_REMEMBERED,
    sizeCalculation: (series) => series.size + 1,
  });

  constructor(
    private readonly catalogue: Catalogue,
    private readonly usage: UsageTable,
  ) {}

  /** Adds the series of new layouts that no older layout of their source has. Never fails: samples come first. */
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
    const [first, ...others] = fresh;
    // Of a new source nothing is remembered: most never have another layout.
    if (first!.isOfNewSource && others.length === 0) return first!.seriesCount;
    const known = this.known.get(sourceId) ?? (await this.olderThan(tenantId, sourceId, fresh));
    const before = known.size;
    for (const { packed } of fresh)
      for (const series of decodeLayout(unpackLayout(packed)).columns.keys()) known.add(numberOf(series));
    // Anew: its size has changed.
    this.known.delete(sourceId);
    this.known.set(sourceId, known);
    return known.size - before;
  }

  private async olderThan(tenantId: Id, sourceId: Id, fresh: readonly NewLayout[]): Promise<Set<number>> {
    const isFresh = new Set(fresh.map(({ id }) => id));
    const series = new Set<number>();
    const { layouts } = await this.catalogue.source(tenantId, sourceId);
    for (const layout of [...layouts.values()].flat())
      if (!isFresh.has(layout.id)) for (const key of layout.columns.keys()) series.add(numberOf(key));
    return series;
  }
}

/**
 * What a series is remembered by: 48 bits of a hash take a quarter of the memory of its labels, and confuse one pair in
 * some 500 sources of a million series.
 */
function numberOf(series: string): number {
  return hash('sha1', series, 'buffer').readUIntBE(0, 6);
}
