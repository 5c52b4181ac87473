import type { VersionedDeletion } from '../model/deletion';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { type Labels, sourceOf } from '../model/labels';
import type { Layout } from '../model/layout';
import { cachedLayout, openLayout } from '../model/open-layouts';
import { daysIn, type GroupId, sourceIdOf, sourceIdOfGroup, splitBitsOfGroup } from '../model/placement';
import { metaKeys } from '../platform/keys';
import { getItem, queryAll, type Table } from '../platform/table';
import { ChangeList } from './change-list';
import { DeletionTable, deletionOf } from './deletion-table';
import { IndexTable, type LayoutOfDays } from './index-table';
import { LAYOUT_KEPT_MS } from './lifetimes';
import { PoolTable } from './pool-table';
import { SourceIndex } from './source-index';

/**
 * The catalogue's data about one source: every layout that the source's groups have ever had, and the source's
 * deletions.
 */
export interface SourceCatalogue {
  /** Every layout of each group. */
  readonly layouts: ReadonlyMap<GroupId, readonly Layout[]>;
  /**
   * Every number of split bits ever used, keyed by the source's own id and its pool's id. A source is split into
   * `2 ** bits` groups, and the number of bits may change as the source's number of series changes. A reader therefore
   * looks in the groups of every listed number of bits.
   */
  readonly splits: ReadonlyMap<Id, readonly number[]>;
  /**
   * Returns whether a series of `layouts` belongs to the source; a pool's layouts also contain series of other sources.
   * Undefined if all series belong to the source.
   */
  readonly isOwn?: (labels: Labels) => boolean;
  /**
   * Lengths of the windows in which the source's samples were written, in ms, ascending. There are several if the
   * setting has changed.
   */
  readonly windowLengthsMs: readonly number[];
  /** Lower bound on the timestamps of the source's samples, in ms; Infinity if the source has never posted. */
  readonly firstMs: number;
  readonly deletions: readonly VersionedDeletion[];
}

/**
 * Stores the layouts of every group, and thus the labels of every series, in the meta table. A writer puts a layout
 * before the first frame or chunk refers to it, and puts it again once a day. That renews `expiresAt`, so the layout
 * outlives the data.
 *
 *     pk layouts#tenant#source   sk group#layout   layout: zstd of its bytes   windows: set of ms   firstMs   expiresAt: seconds
 *
 * The same partition key also holds the source's deletions (deletion-table.ts), and its pool if it has one. A pool is a
 * set of small sources whose samples are in shared groups (model/placement.ts). Post writes the pool item before it
 * sends the first record with the source's samples:
 *
 *     sk pool   poolId: id, the source's own id if it is in no pool   expiresAt: seconds
 *
 * A read of many sources does not use these items. The index of series (index-table.ts) shows where the samples are,
 * and the list of changes (change-list.ts) shows which sources have deletions.
 */
export class Catalogue {
  readonly index: IndexTable;
  readonly sources: SourceIndex;
  readonly changes: ChangeList;
  readonly deletions: DeletionTable;
  protected readonly pools: PoolTable;

  constructor(
    protected readonly table: Table,
    protected readonly retentionMs: number,
    protected readonly now: () => number = Date.now,
  ) {
    this.index = new IndexTable(table);
    this.sources = new SourceIndex(table);
    this.changes = new ChangeList(table, retentionMs, now);
    this.deletions = new DeletionTable(table, retentionMs, this.changes, now);
    this.pools = new PoolTable(table, retentionMs, now);
  }

  /**
   * Reads a layout of a group, from this instance's cache or the table. Layouts never change, so a cached
   * copy is always valid.
   *
   * @throws {Error} when the catalogue lacks the layout
   */
  async layout(tenantId: Id, group: GroupId, layoutId: Id): Promise<Layout> {
    const copy = cachedLayout(layoutId);
    if (copy !== undefined) return copy;
    const packed = await this.packedLayout(tenantId, group, layoutId);
    if (packed === undefined) throw new Error(`the catalogue has no layout ${layoutId} of group ${group}`);
    return openLayout(layoutId, packed);
  }

  /** Reads a layout's bytes, compressed with zstd. Returns undefined if the catalogue lacks the layout. */
  async packedLayout(tenantId: Id, group: GroupId, layoutId: Id): Promise<Uint8Array | undefined> {
    const item = await getItem(this.table, metaKeys.layout(tenantId, group, layoutId));
    return item?.layout?.B;
  }

  /** Reads the catalogue's data about a source and its pool; empty if the source has never posted. */
  async source(tenantId: Id, sourceId: Id): Promise<SourceCatalogue> {
    const { pool, ...own } = await this.entry(tenantId, sourceId);
    // A pool item with the source's own id means that the source is in no pool.
    if (pool === undefined || pool === sourceId) return own;
    const shared = await this.entry(tenantId, pool);
    return {
      layouts: new Map([...own.layouts, ...shared.layouts]),
      splits: new Map([...own.splits, ...shared.splits]),
      isOwn: (labels) => sourceIdOf(tenantId, sourceOf.labels(labels)) === sourceId,
      windowLengthsMs: lengthsOf([...own.windowLengthsMs, ...shared.windowLengthsMs]),
      firstMs: Math.min(own.firstMs, shared.firstMs),
      deletions: own.deletions,
    };
  }

  /**
   * Returns the sources that have ever posted. Takes far fewer requests than calling {@link source} for each source.
   */
  async findExisting(tenantId: Id, sourceIds: readonly Id[]): Promise<ReadonlySet<Id>> {
    return new Set((await this.pools.find(tenantId, sourceIds)).keys());
  }

  /**
   * Reads the items under the partition key of one source or pool. For a source, does not read the items of its pool.
   */
  private async entry(
    tenantId: Id,
    sourceId: Id,
  ): Promise<SourceCatalogue & { readonly pool: Id | undefined }> {
    let pool: Id | undefined;
    const layouts = new Map<GroupId, Layout[]>();
    const deletions: VersionedDeletion[] = [];
    const lengths: number[] = [];
    let firstMs = Infinity;
    const items = queryAll(this.table, { pk: metaKeys.source(tenantId, sourceId) });
    for await (const item of items) {
      const sort = item.sk!.S!;
      if (sort === metaKeys.poolSort) {
        pool = item.poolId!.S!;
        continue;
      }
      if (sort.startsWith(metaKeys.deletionPrefix)) {
        deletions.push(deletionOf(item));
        continue;
      }
      const { group, layoutId } = metaKeys.parseLayoutSort(sort);
      const layout = openLayout(layoutId, item.layout!.B!);
      const known = layouts.get(group);
      if (known === undefined) layouts.set(group, [layout]);
      else known.push(layout);
      lengths.push(...item.windows!.NS!.map(Number));
      firstMs = Math.min(firstMs, Number(item.firstMs!.N));
    }
    return {
      layouts,
      splits: splitsOf(layouts.keys()),
      windowLengthsMs: lengthsOf(lengths),
      firstMs,
      deletions,
      pool,
    };
  }

  /**
   * Reads the layouts of a source, each with the days on which it may have samples: from the day of its first sample to
   * the day after an ingester last put the layout. The extra day is needed because samples may be sent a day ahead.
   * Used to rebuild the index of series.
   *
   * @returns the layouts, keyed by the length, in ms, of the windows in which their samples were written
   */
  async layoutsByDays(tenantId: Id, sourceId: Id): Promise<ReadonlyMap<number, readonly LayoutOfDays[]>> {
    const layouts = new Map<number, LayoutOfDays[]>();
    const items = queryAll(this.table, { pk: metaKeys.source(tenantId, sourceId) });
    for await (const { sk, layout, windows, firstMs, expiresAt } of items) {
      if (layout === undefined) continue;
      const { group, layoutId } = metaKeys.parseLayoutSort(sk!.S!);
      const putMs = Number(expiresAt!.N) * 1000 - this.retentionMs - LAYOUT_KEPT_MS;
      const fromMs = Math.max(Number(firstMs!.N), this.now() - this.retentionMs);
      const days = daysIn(fromMs, Math.max(putMs, fromMs) + DAY_MS);
      for (const windowMs of windows!.NS!.map(Number)) {
        const known = layouts.get(windowMs) ?? [];
        known.push({ group, id: layoutId, packed: layout.B!, days });
        layouts.set(windowMs, known);
      }
    }
    return layouts;
  }
}

function lengthsOf(lengthsMs: readonly number[]): number[] {
  return [...new Set(lengthsMs)].sort((a, b) => a - b);
}

function splitsOf(groups: Iterable<GroupId>): Map<Id, number[]> {
  const bySource = Map.groupBy(groups, sourceIdOfGroup);
  return new Map(
    Array.from(bySource, ([id, own]) => [id, [...new Set(own.map(splitBitsOfGroup))].sort((a, b) => a - b)]),
  );
}
