import { GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { CACHES } from '../model/cache-budgets';
import { CompactMap } from '../model/compact-map';
import type { VersionedDeletion } from '../model/deletion';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { type Labels, labelsKey, sourceOf } from '../model/labels';
import { decodeLayout, type Layout } from '../model/layout';
import { knownLayout, openLayout } from '../model/open-layouts';
import { bytesOfPacked } from '../model/packed-layout';
import { daysIn, type GroupId, sourceIdOf, sourceIdOfGroup, splitBitsOfGroup } from '../model/placement';
import { commonLabels } from '../model/shape';
import { mapLimited } from '../platform/concurrency';
import { metaKeys } from '../platform/keys';
import { insertItems, queryAll, succeeds, type Table } from '../platform/table';
import { ChangeList } from './change-list';
import { DeletionTable, deletionOf } from './deletion-table';
import { IndexTable, type LayoutOfDays } from './index-table';
import { expiresAtOf, LAYOUT_KEPT_MS, turnOf } from './lifetimes';
import { PoolTable } from './pool-table';
import { dayNumber, isPutOn, memoOf, writtenAs } from './put-memo';
import { SourceIndex } from './source-index';

/** A source's entry: all layouts that its groups have had, and its deletions. */
export interface SourceCatalogue {
  /** Layouts of each group, by group. */
  readonly layouts: ReadonlyMap<GroupId, readonly Layout[]>;
  /**
   * For the source's own id and for its pool's id: every number of split bits (the bits by which series are
   * divided among groups) that has been in use. Readers look in the groups of every such number.
   */
  readonly splits: ReadonlyMap<Id, readonly number[]>;
  /**
   * Whether a series of the layouts belongs to the source. Absent: all do. A pool's layouts also have series
   * of other sources.
   */
  readonly isOwn?: (labels: Labels) => boolean;
  /**
   * Every window length with which the source's samples were written, ms, ascending. A window begins at a
   * multiple of its length.
   */
  readonly windowLengthsMs: readonly number[];
  /** Lower bound of the timestamps of the source's samples, ms; Infinity when it has never posted. */
  readonly firstMs: number;
  readonly deletions: readonly VersionedDeletion[];
}

/** A layout of a group whose samples are about to be written. */
export interface GroupLayout {
  readonly group: GroupId;
  readonly id: Id;
  /** The layout's bytes, compressed with zstd. */
  readonly packed: Uint8Array;
  /** Lower bound of the timestamps of those samples, ms. */
  readonly firstMs: number;
}

/** The outcome of putting a layout. */
export interface PutLayout {
  /** Whether the layout was new to the catalogue. */
  readonly isNew: boolean;
  /** Whether the layout's source was new; false if that was not checked. */
  readonly isOfNewSource: boolean;
}

const PARALLEL = 32;

/**
 * Every group's layouts, and thereby every series, in the meta table. A writer puts a layout before the first
 * frame or chunk refers to it (DESIGN.md, rule 11), and again once a day, so that it outlives the data.
 *
 *     pk layouts#tenant#source   sk group#layout   layout: zstd of its bytes   windows: set of ms   firstMs   expiresAt: seconds
 *
 * The same partition key has the source's deletions (deletion-table.ts), and the pool of a source whose
 * samples lie in a pool's groups (model/placement.ts). The pool is written before the first frame with the
 * source's samples:
 *
 *     sk pool   poolId: id, the source's own if it is in none   expiresAt: seconds
 *
 * Reads of many sources do not use these items: the index of series (index-table.ts) tells where the samples
 * lie, and the list of changes (change-list.ts) tells which sources have deletions.
 */
export class Catalogue {
  readonly index: IndexTable;
  readonly sources: SourceIndex;
  readonly changes: ChangeList;
  readonly deletions: DeletionTable;
  private readonly pools: PoolTable;
  /**
   * Remembers what this instance has written, to avoid writing it again: layouts (put-memo.ts),
   * entries of the index of series, and the turn in which it last renewed each source and pool.
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
   * Puts a layout of a group, unless this instance did so today.
   *
   * @param windowMs length of the windows that its samples are written in, ms
   * @returns whether the layout was new to the catalogue
   */
  async put(
    tenantId: Id,
    { group, id: layoutId, packed, firstMs }: GroupLayout,
    windowMs: number,
  ): Promise<boolean> {
    const day = dayNumber(this.now());
    const known = writtenAs(group, layoutId, windowMs);
    const written = this.written.get(known);
    if (written !== undefined && isPutOn(day, firstMs, written)) return false;
    const item = { TableName: this.table.name, Key: metaKeys.layout(tenantId, group, layoutId) };
    const first = { N: String(firstMs) };
    const { Attributes } = await this.table.client.send(
      new UpdateItemCommand({
        ...item,
        UpdateExpression:
          'SET layout = :layout, expiresAt = :expiresAt, firstMs = if_not_exists(firstMs, :first) ADD windows :windows',
        ExpressionAttributeValues: {
          ':layout': { B: packed },
          ':expiresAt': { N: String(this.expiresAt()) },
          ':windows': { NS: [String(windowMs)] },
          ':first': first,
        },
        ReturnValues: 'ALL_OLD',
      }),
    );
    const isNew = Attributes?.layout === undefined;
    const storedMs = Number(Attributes?.firstMs?.N ?? firstMs);
    const lowestMs = Math.min(storedMs, firstMs);
    if (storedMs > lowestMs)
      await succeeds(
        this.table.client.send(
          new UpdateItemCommand({
            ...item,
            UpdateExpression: 'SET firstMs = :first',
            ConditionExpression: 'firstMs > :first',
            ExpressionAttributeValues: { ':first': { N: String(lowestMs) } },
          }),
        ),
      );
    const owner = sourceIdOfGroup(group);
    await this.sources.renew(tenantId, owner);
    await this.keepPools(tenantId, poolOfMembers(tenantId, owner, { id: layoutId, packed }));
    this.written.set(known, memoOf(day, lowestMs));
    return isNew;
  }

  /**
   * Puts layouts like {@link put}. Layouts that this instance never wrote are inserted in batches, since
   * nearly all of them are new. A layout whose insertion fails because it exists is then put singly.
   *
   * @returns an outcome for each layout
   */
  async putAll(tenantId: Id, layouts: readonly GroupLayout[], windowMs: number): Promise<PutLayout[]> {
    const unseen = layouts.filter(
      ({ group, id }) => this.written.get(writtenAs(group, id, windowMs)) === undefined,
    );
    // A single layout needs no batch.
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

  /** Inserts layouts in batches. @returns the outcomes of those that were inserted */
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
    // Renew the sources that were not inserted: an entry that already exists may be about to expire.
    await mapLimited(sources, PARALLEL, (sourceId) => this.sources.renew(tenantId, sourceId));
    const inserted = new Map<GroupLayout, PutLayout>();
    layouts.forEach((layout, i) => {
      if (!done[i]) return;
      const { group, id, firstMs } = layout;
      this.written.set(writtenAs(group, id, windowMs), memoOf(day, firstMs));
      inserted.set(layout, { isNew: true, isOfNewSource: newSources.has(sourceIdOfGroup(group)) });
    });
    return inserted;
  }

  /** Reads a layout of a group. Layouts are immutable, so a cached copy is always valid. */
  async layout(tenantId: Id, group: GroupId, layoutId: Id): Promise<Layout> {
    const copy = knownLayout(layoutId);
    if (copy !== undefined) return copy;
    const packed = await this.packedLayout(tenantId, group, layoutId);
    if (packed === undefined) throw new Error(`the catalogue has no layout ${layoutId} of group ${group}`);
    return openLayout(layoutId, packed);
  }

  /** Reads a layout's bytes, compressed with zstd; undefined when the catalogue lacks the layout. */
  async packedLayout(tenantId: Id, group: GroupId, layoutId: Id): Promise<Uint8Array | undefined> {
    const { Item } = await this.table.client.send(
      new GetItemCommand({
        TableName: this.table.name,
        Key: metaKeys.layout(tenantId, group, layoutId),
        ConsistentRead: true,
      }),
    );
    return Item?.layout?.B;
  }

  /**
   * Reads the lower bound of the timestamps of a layout's samples, ms; undefined when the catalogue lacks the
   * layout or the time.
   */
  async layoutFirstMs(tenantId: Id, group: GroupId, layoutId: Id): Promise<number | undefined> {
    const { Item } = await this.table.client.send(
      new GetItemCommand({
        TableName: this.table.name,
        Key: metaKeys.layout(tenantId, group, layoutId),
        ProjectionExpression: 'firstMs',
        ConsistentRead: true,
      }),
    );
    return Item?.firstMs === undefined ? undefined : Number(Item.firstMs.N);
  }

  /**
   * Renews sources' pool items, unless this instance did so in the present turn. @param pools each source's
   * pool
   */
  private async keepPools(tenantId: Id, pools: ReadonlyMap<Id, Id>): Promise<void> {
    const turn = (sourceId: Id) => turnOf(sourceId, this.now());
    const open = [...pools].filter(([sourceId]) => this.written.get(`pool ${sourceId}`) !== turn(sourceId));
    if (open.length === 0) return;
    await this.pools.keep(tenantId, new Map(open));
    for (const [sourceId] of open) this.written.set(`pool ${sourceId}`, turn(sourceId));
  }

  /**
   * Reads everything that is known of a source, including its pool's layouts. Empty when the source has never
   * posted.
   */
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

  /** Returns which of these sources have an entry, with far fewer requests than reading each entry. */
  async existing(tenantId: Id, sourceIds: readonly Id[]): Promise<ReadonlySet<Id>> {
    return new Set((await this.pools.find(tenantId, sourceIds)).keys());
  }

  /** Reads the entry of a source or pool. */
  private async entry(
    tenantId: Id,
    sourceId: Id,
  ): Promise<SourceCatalogue & { readonly pool: Id | undefined }> {
    let pool: Id | undefined;
    const layouts = new Map<GroupId, Layout[]>();
    const deletions: VersionedDeletion[] = [];
    const lengths: number[] = [];
    let firstMs = Infinity;
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: metaKeys.source(tenantId, sourceId) } },
    });
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
      lengths.push(...(item.windows?.NS ?? []).map(Number));
      firstMs = Math.min(firstMs, Number(item.firstMs?.N ?? Number.MIN_SAFE_INTEGER));
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
   * Reads the layouts of a source, with the days that may have samples of them: from the first sample to a
   * day after an ingester last put the layout, since samples may be sent a day ahead. Used to rebuild the
   * index of series.
   *
   * @returns the layouts by the window length that their samples were written with, ms
   */
  async layoutsByDays(tenantId: Id, sourceId: Id): Promise<ReadonlyMap<number, readonly LayoutOfDays[]>> {
    const layouts = new Map<number, LayoutOfDays[]>();
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: metaKeys.source(tenantId, sourceId) } },
    });
    for await (const { sk, layout, windows, firstMs, expiresAt } of items) {
      if (layout === undefined) continue;
      const { group, layoutId } = metaKeys.parseLayoutSort(sk!.S!);
      const putMs = Number(expiresAt!.N) * 1000 - this.retentionMs - LAYOUT_KEPT_MS;
      const fromMs = Math.max(Number(firstMs?.N ?? 0), this.now() - this.retentionMs);
      const days = daysIn(fromMs, Math.max(putMs, fromMs) + DAY_MS);
      for (const windowMs of (windows?.NS ?? []).map(Number)) {
        const known = layouts.get(windowMs) ?? [];
        known.push({ group, id: layoutId, packed: layout.B!, days });
        layouts.set(windowMs, known);
      }
    }
    return layouts;
  }

  /**
   * Today's samples can be read until the retention ends. The margin is for samples sent a day ahead or
   * archived late.
   */
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

/** Maps each source in a pool's layout to the pool; empty for a layout that is a single source's own. */
function poolOfMembers(tenantId: Id, owner: Id, layout: Pick<GroupLayout, 'id' | 'packed'>): Map<Id, Id> {
  const bytes = bytesOfPacked(layout);
  // In a source's own layout, all series have the labels that name the source.
  if (sourceIdOf(tenantId, sourceOf.labels(commonLabels(bytes))) === owner) return new Map();
  const sources = new Map(
    decodeLayout(bytes).series.map((labels) => {
      const source = sourceOf.labels(labels);
      return [labelsKey(source), source];
    }),
  );
  return new Map(Array.from(sources.values(), (source) => [sourceIdOf(tenantId, source), owner]));
}
