import { CACHES } from '../model/cache-budgets';
import { CompactMap } from '../model/compact-map';
import type { VersionedDeletion } from '../model/deletion';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { type Labels, sourceOf } from '../model/labels';
import type { Layout } from '../model/layout';
import { cachedLayout, openLayout } from '../model/open-layouts';
import type { PackedLayout } from '../model/packed-layout';
import { daysIn, type GroupId, sourceIdOf, sourceIdOfGroup, splitBitsOfGroup } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { metaKeys } from '../platform/keys';
import { getItem, insertItems, queryAll, type Table, updateItem, updateItemIf } from '../platform/table';
import { ChangeList } from './change-list';
import { DeletionTable, deletionOf } from './deletion-table';
import { IndexTable, type LayoutOfDays } from './index-table';
import { dayNumber, isPutOn, lastPutOf, writtenAs } from './last-put';
import { expiresAtOf, LAYOUT_KEPT_MS, renewalPeriodOf } from './lifetimes';
import { PoolTable, poolOfMembers } from './pool-table';
import { SourceIndex } from './source-index';

/** The catalogue's data of one source: every layout that the source's groups have ever had, and its deletions. */
export interface SourceCatalogue {
  /** Every layout of each group. */
  readonly layouts: ReadonlyMap<GroupId, readonly Layout[]>;
  /**
   * Every number of split bits ever used, keyed by the source's own id and its pool's id. A source is split into
   * `2 ** bits` groups, and the number of bits may change with the number of its series. A reader therefore looks in
   * the groups of every number of bits listed here.
   */
  readonly splits: ReadonlyMap<Id, readonly number[]>;
  /**
   * Tests whether a series of `layouts` belongs to the source: a pool's layouts also have series of other
   * sources. Undefined if all series belong to the source.
   */
  readonly isOwn?: (labels: Labels) => boolean;
  /** Window lengths with which the source's samples were written, ms, ascending; several if the setting has changed. */
  readonly windowLengthsMs: readonly number[];
  /** Lower bound of the timestamps of the source's samples, in ms; Infinity if it has never posted. */
  readonly firstMs: number;
  readonly deletions: readonly VersionedDeletion[];
}

/** A layout to put into the catalogue before samples are written in it. */
export interface GroupLayout extends Pick<PackedLayout, 'id' | 'packed' | 'bytes'> {
  readonly group: GroupId;
  /** Lower bound of the timestamps of the samples about to be written, in ms. */
  readonly firstMs: number;
}

/** The outcome of putting one layout. */
export interface PutLayout {
  /** Whether the layout was new to the catalogue. */
  readonly isNew: boolean;
  /** Whether the layout's source was new. Also false if a single layout was put, which does not check the source. */
  readonly isOfNewSource: boolean;
}

/** Maximum number of requests that one call sends at the same time. */
const PARALLEL = 32;

/**
 * Stores the layouts of every group, and so the labels of every series, in the meta table. A writer puts a
 * layout before the first frame or chunk refers to it. It puts the layout again once a day, which renews
 * `expiresAt`, so that the layout outlives the data.
 *
 *     pk layouts#tenant#source   sk group#layout   layout: zstd of its bytes   windows: set of ms   firstMs   expiresAt: seconds
 *
 * Under the same partition key lie the source's deletions (deletion-table.ts) and its pool, if it has one. A
 * pool is a set of small sources whose samples lie in shared groups (model/placement.ts). The pool item is
 * written before the first frame with the source's samples:
 *
 *     sk pool   poolId: id, the source's own id if it is in no pool   expiresAt: seconds
 *
 * A read of many sources does not use these items. The index of series (index-table.ts) tells the reader where the
 * samples lie, and the list of changes (change-list.ts) tells which sources have deletions.
 */
export class Catalogue {
  readonly index: IndexTable;
  readonly sources: SourceIndex;
  readonly changes: ChangeList;
  readonly deletions: DeletionTable;
  private readonly pools: PoolTable;
  /**
   * Remembers the layouts (last-put.ts) and index entries that this instance has written, and the renewal period in
   * which it last renewed each source and pool, so that it does not write them again.
   */
  private readonly written = new CompactMap(CACHES.catalogued);

  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly now: () => number = Date.now,
  ) {
    this.changes = new ChangeList(table, retentionMs, now);
    this.index = new IndexTable(table, retentionMs, this.written, this.changes);
    this.sources = new SourceIndex(table, retentionMs, this.written, now);
    this.deletions = new DeletionTable(table, retentionMs, this.changes, now);
    this.pools = new PoolTable(table, retentionMs, now);
  }

  /**
   * Puts a layout of a group, or renews it. Does nothing if this instance has already put the layout today
   * with a `firstMs` as low as this one.
   *
   * @param windowMs length of the windows that the layout's samples are written in, in ms
   * @returns whether the layout was new to the catalogue
   */
  async put(tenantId: Id, layout: GroupLayout, windowMs: number): Promise<boolean> {
    const { group, id: layoutId, packed, firstMs } = layout;
    const day = dayNumber(this.now());
    const known = writtenAs(group, layoutId, windowMs);
    const written = this.written.get(known);
    if (written !== undefined && isPutOn(day, firstMs, written)) return false;
    const Key = metaKeys.layout(tenantId, group, layoutId);
    const { Attributes } = await updateItem(this.table, {
      Key,
      UpdateExpression:
        'SET layout = :layout, expiresAt = :expiresAt, firstMs = if_not_exists(firstMs, :first) ADD windows :windows',
      ExpressionAttributeValues: {
        ':layout': { B: packed },
        ':expiresAt': { N: String(this.expiresAt()) },
        ':windows': { NS: [String(windowMs)] },
        ':first': { N: String(firstMs) },
      },
      ReturnValues: 'ALL_OLD',
    });
    const isNew = Attributes?.layout === undefined;
    const storedMs = Number(Attributes?.firstMs?.N ?? firstMs);
    const lowestMs = Math.min(storedMs, firstMs);
    if (storedMs > lowestMs)
      await updateItemIf(this.table, {
        Key,
        UpdateExpression: 'SET firstMs = :first',
        ConditionExpression: 'firstMs > :first',
        ExpressionAttributeValues: { ':first': { N: String(lowestMs) } },
      });
    const owner = sourceIdOfGroup(group);
    await this.sources.renew(tenantId, owner);
    await this.keepPools(tenantId, poolOfMembers(tenantId, owner, layout));
    this.written.set(known, lastPutOf(day, lowestMs));
    return isNew;
  }

  /**
   * Puts layouts, like {@link put}. Layouts that this instance has never written are nearly always new, so it inserts
   * them in batches. A layout that could not be inserted, for example because it exists, is put on its own.
   *
   * @returns an outcome for each layout
   */
  async putAll(tenantId: Id, layouts: readonly GroupLayout[], windowMs: number): Promise<PutLayout[]> {
    const unseen = layouts.filter(
      ({ group, id }) => this.written.get(writtenAs(group, id, windowMs)) === undefined,
    );
    // A single layout does not need a batch.
    const inserted =
      unseen.length > 1 ? await this.insert(tenantId, unseen, windowMs) : new Map<GroupLayout, PutLayout>();
    return mapLimited(
      layouts,
      PARALLEL,
      async (layout) =>
        inserted.get(layout) ?? {
          isNew: await this.put(tenantId, layout, windowMs),
          isOfNewSource: false,
        },
    );
  }

  /**
   * Inserts layouts in batches, and their sources' index items.
   *
   * @returns only the layouts that were inserted; the caller puts the existing ones one by one
   */
  private async insert(
    tenantId: Id,
    layouts: readonly GroupLayout[],
    windowMs: number,
  ): Promise<Map<GroupLayout, PutLayout>> {
    const day = dayNumber(this.now());
    const expiresAt = { N: String(this.expiresAt()) };
    const items = layouts.map((layout) => ({
      ...metaKeys.layout(tenantId, layout.group, layout.id),
      expiresAt,
      layout: { B: layout.packed },
      firstMs: { N: String(layout.firstMs) },
      windows: { NS: [String(windowMs)] },
    }));
    const sources = [...new Set(layouts.map(({ group }) => sourceIdOfGroup(group)))];
    const index = sources.map((sourceId) => this.sources.itemOf(tenantId, sourceId));
    const members = layouts.map((layout) => poolOfMembers(tenantId, sourceIdOfGroup(layout.group), layout));
    await this.keepPools(tenantId, new Map(members.flatMap((pools) => [...pools])));
    const outcomes = await insertItems(this.table, [...items, ...index]);
    const done = outcomes.map((outcome) => outcome === 'inserted');
    const newSources = new Set(sources.filter((_, i) => done[items.length + i]));
    for (const sourceId of newSources) this.sources.noteRenewed(sourceId);
    // A source that was not inserted exists already, and its item may be about to expire.
    await mapLimited(sources, PARALLEL, (sourceId) => this.sources.renew(tenantId, sourceId));
    const inserted = new Map<GroupLayout, PutLayout>();
    layouts.forEach((layout, i) => {
      if (!done[i]) return;
      const { group, id, firstMs } = layout;
      this.written.set(writtenAs(group, id, windowMs), lastPutOf(day, firstMs));
      inserted.set(layout, { isNew: true, isOfNewSource: newSources.has(sourceIdOfGroup(group)) });
    });
    return inserted;
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

  /**
   * Renews the pool items of sources, unless this instance has renewed them in the current renewal period.
   *
   * @param pools the pool of each source, by the source's id
   */
  private async keepPools(tenantId: Id, pools: ReadonlyMap<Id, Id>): Promise<void> {
    const period = (sourceId: Id) => renewalPeriodOf(sourceId, this.now());
    const open = [...pools].filter(([sourceId]) => this.written.get(`pool ${sourceId}`) !== period(sourceId));
    if (open.length === 0) return;
    await this.pools.keep(tenantId, new Map(open));
    for (const [sourceId] of open) this.written.set(`pool ${sourceId}`, period(sourceId));
  }

  /** Reads the catalogue's data of a source and its pool; empty if the source has never posted. */
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

  /** Returns the sources that have ever posted. Takes far fewer requests than {@link source} for each. */
  async findExisting(tenantId: Id, sourceIds: readonly Id[]): Promise<ReadonlySet<Id>> {
    return new Set((await this.pools.find(tenantId, sourceIds)).keys());
  }

  /** Reads the items below the partition key of one source or pool, without following the source's pool. */
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
   * the day after an ingester last put it. The extra day is needed because samples may be sent a day ahead. Used to
   * rebuild the index of series.
   *
   * @returns the layouts by the length of the windows that their samples were written in, in ms
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

  /** Returns when an item that is written now expires, as Unix time in seconds: after today's samples. */
  private expiresAt(): number {
    return expiresAtOf(this.now(), this.retentionMs);
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
