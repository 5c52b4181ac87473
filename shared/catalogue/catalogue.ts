import { GetItemCommand, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { decodeVersion, encodeVersion } from '../codec';
import { CompactMap } from '../model/compact-map';
import { type VersionedDeletion, withinKnownEpochs } from '../model/deletion';
import { DAY_MS } from '../model/duration';
import { type Id, idOf } from '../model/id';
import { type Labels, labelsKey, sourceOf } from '../model/labels';
import { decodeLayout, type Layout, unpackLayout } from '../model/layout';
import { knownLayout, openLayout } from '../model/open-layouts';
import {
  daysIn,
  type GroupId,
  type PartitionRef,
  sourceIdOf,
  sourceIdOfGroup,
  splitBitsOfGroup,
} from '../model/placement';
import { commonLabels } from '../model/shape';
import { mapLimited } from '../platform/concurrency';
import { bucketOfSource, metaKeys, SOURCE_BUCKETS } from '../platform/keys';
import { type Item, insertItems, queryAll, succeeds, type Table } from '../platform/table';
import { IndexTable, type LayoutOfDays } from './index-table';
import { expiresAtOf, LAYOUT_KEPT_MS, TURN_MS, turnOf } from './lifetimes';
import { PoolTable } from './pool-table';

/** A source's entry: every layout that its groups have had, and its deletions. */
export interface SourceCatalogue {
  /** Layouts of each group, by group. */
  readonly layouts: ReadonlyMap<GroupId, readonly Layout[]>;
  /** Every split that the source's series have been in, by the id that their groups have: its own, its pool's. Readers look in each. */
  readonly splits: ReadonlyMap<Id, readonly number[]>;
  /** Whether a series of the layouts is the source's; absent: all are. A pool's layouts have series of other sources. */
  readonly isOwn?: (labels: Labels) => boolean;
  /** Every length of the windows that its samples were written with, ms, ascending. A window begins at a multiple of its length. */
  readonly windowLengthsMs: readonly number[];
  /** No sample bears an earlier time, ms; Infinity when it has never posted. */
  readonly firstMs: number;
  readonly deletions: readonly VersionedDeletion[];
}

/** A layout of a group, of which samples are about to be written. */
export interface GroupLayout {
  readonly group: GroupId;
  readonly id: Id;
  /** zstd of its bytes. */
  readonly packed: Uint8Array;
  /** None of those samples bears an earlier time. */
  readonly firstMs: number;
}

/** The outcome of putting a layout. */
export interface PutLayout {
  /** Whether the catalogue lacked it. */
  readonly isNew: boolean;
  /** Whether its source was new; false where nobody looked. */
  readonly isOfNewSource: boolean;
}

/** Pairs of group and layout that an instance remembers, 32 bytes each: 20,000 hosts of Telegraf may have 240,000. */
const MAX_REMEMBERED = 4_000_000;
const PARALLEL = 32;
/** Changes are listed for this long, ms: longer than a reader goes by what it knows, and clocks differ. */
const CHANGES_LISTED_MS = 900_000;

/**
 * Every group's layouts, and so every series, in the meta table. A writer puts a layout before the first frame or chunk
 * refers to it (DESIGN.md, rule 11), and once a day again, so that it outlives the data.
 *
 *     pk layouts#tenant#source   sk group#layout   layout: zstd of its bytes   windows: set of ms   firstMs   expiresAt: seconds
 *
 * Beside them the deletions, so that a read, which asks for the layouts first, asks for nothing more:
 *
 *     sk deletion#hash of what, when and which partition   name, isPrefix, fromMs, toMs   version: hex   place: hex, ascends with versions   isOpened   expiresAt: seconds
 *
 * And the pool of a source whose groups are those of a pool (model/placement.ts), written before a frame has its samples:
 *
 *     sk pool   poolId: id, the source's own if it is in none   expiresAt: seconds
 *
 * A reader that knows a source may go by that, as new layouts are in the index of series, and whatever else changes of a
 * source is listed for all sources together:
 *
 *     pk changes#tenant   sk ms#source   expiresAt: seconds
 *
 * And an index of a tenant's sources and pools; those that are in a pool are not in it. Whoever inserts a source there knows
 * that it is new. An instance renews it when it first puts a layout of the source, then every 16 days: a write unit each time.
 *
 *     pk sources#tenant#bucket   sk source   expiresAt: seconds
 */
export class Catalogue {
  readonly index: IndexTable;
  private readonly pools: PoolTable;
  /**
   * What this instance has written, so that it is not written again: layouts (a {@link PutMemo}), entries of the index of series, and
   * in which turn it renewed sources and pools.
   */
  private readonly written = new CompactMap(MAX_REMEMBERED);

  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly now: () => number = Date.now,
  ) {
    this.index = new IndexTable(table, retentionMs, this.written);
    this.pools = new PoolTable(table, retentionMs, now);
  }

  /**
   * Puts a layout of a group, unless this instance did so today.
   *
   * @param windowMs what its samples are written with
   * @returns whether the catalogue lacked it
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
    // An item of an earlier release does not say since when.
    const lowestMs = !isNew && Attributes.firstMs === undefined ? 0 : Math.min(storedMs, firstMs);
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
    const hasWindow = Attributes?.windows?.NS?.includes(String(windowMs)) ?? false;
    if (!isNew && (storedMs > lowestMs || !hasWindow)) await this.noteChange(tenantId, owner);
    await this.indexSource(tenantId, owner);
    await this.keepPools(tenantId, poolOfMembers(tenantId, owner, packed));
    this.written.set(known, memoOf(day, lowestMs));
    return isNew;
  }

  /** Lists that a source's catalogue has changed, other than by a layout. After the change, so that who reads both sees it. */
  private async noteChange(tenantId: Id, sourceId: Id): Promise<void> {
    const nowMs = this.now();
    await this.table.client.send(
      new PutItemCommand({
        TableName: this.table.name,
        Item: {
          ...metaKeys.change(tenantId, sourceId, nowMs),
          expiresAt: { N: String(Math.ceil((nowMs + DAY_MS) / 1000)) },
        },
      }),
    );
  }

  /** A text for each source that changed in the last quarter of an hour, other than by a layout: another after each change. */
  async changes(tenantId: Id): Promise<ReadonlyMap<Id, string>> {
    const changes = new Map<Id, string>();
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk AND sk >= :from',
      ExpressionAttributeValues: {
        ':pk': { S: metaKeys.changes(tenantId) },
        ':from': { S: metaKeys.changesFrom(this.now() - CHANGES_LISTED_MS) },
      },
    });
    for await (const { sk } of items) {
      const sourceId = metaKeys.parseChangeSort(sk!.S!);
      changes.set(sourceId, `${changes.get(sourceId) ?? ''} ${sk!.S!}`);
    }
    return changes;
  }

  /** Keeps the pools of sources, but for those that this instance kept in the present turn. @param pools by source */
  private async keepPools(tenantId: Id, pools: ReadonlyMap<Id, Id>): Promise<void> {
    const turn = (sourceId: Id) => turnOf(sourceId, this.now());
    const open = [...pools].filter(([sourceId]) => this.written.get(`pool ${sourceId}`) !== turn(sourceId));
    if (open.length === 0) return;
    await this.pools.keep(tenantId, new Map(open));
    for (const [sourceId] of open) this.written.set(`pool ${sourceId}`, turn(sourceId));
  }

  /** Puts a source into the index, unless this instance did so in the present turn. */
  private async indexSource(tenantId: Id, sourceId: Id): Promise<void> {
    const turn = turnOf(sourceId, this.now());
    if (this.written.get(`source ${sourceId}`) === turn) return;
    await this.table.client.send(
      new UpdateItemCommand({
        TableName: this.table.name,
        Key: metaKeys.indexedSource(tenantId, sourceId),
        UpdateExpression: 'SET expiresAt = :expiresAt',
        ExpressionAttributeValues: { ':expiresAt': { N: String(this.indexExpiresAt()) } },
      }),
    );
    this.written.set(`source ${sourceId}`, turn);
  }

  /**
   * Puts layouts as {@link put} does, and inserts those that this instance never wrote in batches: nearly all are new. An
   * insertion does nothing if the item exists; that layout is then put by itself.
   *
   * @returns one outcome for each
   */
  async putAll(tenantId: Id, layouts: readonly GroupLayout[], windowMs: number): Promise<PutLayout[]> {
    const unseen = layouts.filter(
      ({ group, id }) => this.written.get(writtenAs(group, id, windowMs)) === undefined,
    );
    // One alone is put at once.
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

  /** @returns the layouts that were inserted */
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
    const indexExpiresAt = { N: String(this.indexExpiresAt()) };
    const index = sources.map((sourceId) => ({
      ...metaKeys.indexedSource(tenantId, sourceId),
      expiresAt: indexExpiresAt,
    }));
    const members = layouts.map(({ group, packed }) =>
      poolOfMembers(tenantId, sourceIdOfGroup(group), packed),
    );
    await this.keepPools(tenantId, new Map(members.flatMap((pools) => [...pools])));
    const outcomes = await insertItems(this.table, [...items, ...index]);
    const done = outcomes.map((outcome) => outcome === 'inserted');
    const newSources = new Set(sources.filter((_, i) => done[items.length + i]));
    for (const sourceId of newSources) this.written.set(`source ${sourceId}`, turnOf(sourceId, this.now()));
    // A refused entry is put by itself, and one that exists may be about to expire.
    await mapLimited(sources, PARALLEL, (sourceId) => this.indexSource(tenantId, sourceId));
    const inserted = new Map<GroupLayout, PutLayout>();
    layouts.forEach((layout, i) => {
      if (!done[i]) return;
      const { group, id, firstMs } = layout;
      this.written.set(writtenAs(group, id, windowMs), memoOf(day, firstMs));
      inserted.set(layout, { isNew: true, isOfNewSource: newSources.has(sourceIdOfGroup(group)) });
    });
    return inserted;
  }

  /** A layout of a group. Layouts are immutable, so a copy is as good as the item. */
  async layout(tenantId: Id, group: GroupId, layoutId: Id): Promise<Layout> {
    const copy = knownLayout(layoutId);
    if (copy !== undefined) return copy;
    const packed = await this.packedLayout(tenantId, group, layoutId);
    if (packed === undefined) throw new Error(`the catalogue has no layout ${layoutId} of group ${group}`);
    return openLayout(layoutId, packed);
  }

  /** zstd of a layout's bytes; undefined when the catalogue lacks it. */
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

  /** No sample of a layout bears an earlier time, ms; undefined when the catalogue lacks the layout or the time. */
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
   * The ids of a tenant's sources, in the order of their buckets and then of the ids: stable, and the same for all who ask.
   *
   * @param after the id to go on after
   */
  async *sources(tenantId: Id, after?: Id): AsyncGenerator<Id> {
    for (let bucket = after === undefined ? 0 : bucketOfSource(after); bucket < SOURCE_BUCKETS; bucket++) {
      const isFirst = after !== undefined && bucket === bucketOfSource(after);
      const items = queryAll(this.table, {
        KeyConditionExpression: isFirst ? 'pk = :pk AND sk > :after' : 'pk = :pk',
        ExpressionAttributeValues: {
          ':pk': { S: metaKeys.sourceIndex(tenantId, bucket) },
          ...(isFirst ? { ':after': { S: after } } : {}),
        },
      });
      for await (const { sk } of items) yield sk!.S!;
    }
  }

  /** Everything that is known of a source, its pool's layouts included; nothing when it has never posted. */
  async source(tenantId: Id, sourceId: Id): Promise<SourceCatalogue> {
    const { pool, ...own } = await this.entry(tenantId, sourceId);
    // Its own id: it is in none.
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

  /** Which of these sources have an entry: far fewer requests than asking for each entry. */
  async existing(tenantId: Id, sourceIds: readonly Id[]): Promise<ReadonlySet<Id>> {
    return new Set((await this.pools.find(tenantId, sourceIds)).keys());
  }

  /** The entry of a source or pool. */
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
      if (sort === metaKeys.sourceMarkSort) continue;
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
   * The layouts of a source with the days that they may have samples of: from the first sample to a day after an ingester
   * put the layout last, since samples may be sent a day ahead. For rebuilding the index of series.
   */
  async layoutsByDays(tenantId: Id, sourceId: Id): Promise<LayoutOfDays[]> {
    const layouts: LayoutOfDays[] = [];
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: metaKeys.source(tenantId, sourceId) } },
    });
    for await (const { sk, layout, firstMs, expiresAt } of items) {
      if (layout === undefined) continue;
      const { group, layoutId } = metaKeys.parseLayoutSort(sk!.S!);
      const putMs = Number(expiresAt!.N) * 1000 - this.retentionMs - LAYOUT_KEPT_MS;
      const fromMs = Math.max(Number(firstMs?.N ?? 0), this.now() - this.retentionMs);
      const days = daysIn(fromMs, Math.max(putMs, fromMs) + DAY_MS);
      layouts.push({ group, id: layoutId, packed: layout.B!, days });
    }
    return layouts;
  }

  /**
   * Puts a deletion. The same deletion again, of a higher version, takes its place: a source has as many as there are
   * different ones. It stays for as long as any sample that it deletes could be read, so a replay from however far
   * back brings none of them back.
   *
   * @param ref the partition that it came through; versions of another one are never compared with its version
   * @returns whether its days are still to be opened ({@link markOpened}): not when it was delivered before
   */
  async putDeletion(ref: PartitionRef, sourceId: Id, deletion: VersionedDeletion): Promise<boolean> {
    const { selector, fromMs, toMs } = deletion;
    const Key = deletionKey(ref, sourceId, deletion);
    const { version, place } = versionTexts(deletion);
    const isNew = await succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: {
            ...Key,
            name: { S: selector.name },
            isPrefix: { BOOL: selector.isPrefix },
            fromMs: { N: String(fromMs) },
            toMs: { N: String(toMs) },
            version: { S: version },
            place: { S: place },
            expiresAt: { N: String(this.expiresAt()) },
          },
          // Items of releases until November 2026 have no place.
          ConditionExpression:
            'attribute_not_exists(version) OR place < :place OR (attribute_not_exists(place) AND version < :version)',
          ExpressionAttributeValues: { ':place': { S: place }, ':version': { S: version } },
        }),
      ),
    );
    // Again when it was delivered before: who put it may have got no further.
    await this.noteChange(ref.tenantId, sourceId);
    if (isNew) return true;
    const { Item } = await this.table.client.send(
      new GetItemCommand({ TableName: this.table.name, Key, ConsistentRead: true }),
    );
    // One of a higher version opens the days itself.
    return Item?.version?.S === version && Item.isOpened === undefined;
  }

  /** Notes that the days of a deletion were opened for the archiver. */
  async markOpened(ref: PartitionRef, sourceId: Id, deletion: VersionedDeletion): Promise<void> {
    await succeeds(
      this.table.client.send(
        new UpdateItemCommand({
          TableName: this.table.name,
          Key: deletionKey(ref, sourceId, deletion),
          UpdateExpression: 'SET isOpened = :yes',
          ConditionExpression: 'version = :version',
          ExpressionAttributeValues: {
            ':yes': { BOOL: true },
            ':version': { S: versionTexts(deletion).version },
          },
        }),
      ),
    );
  }

  async deletions(tenantId: Id, sourceId: Id): Promise<VersionedDeletion[]> {
    const deletions: VersionedDeletion[] = [];
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :deletion)',
      ExpressionAttributeValues: {
        ':pk': { S: metaKeys.source(tenantId, sourceId) },
        ':deletion': { S: metaKeys.deletionPrefix },
      },
    });
    for await (const item of items) deletions.push(deletionOf(item));
    return deletions;
  }

  private indexExpiresAt(): number {
    return expiresAtOf(this.now() + TURN_MS, this.retentionMs);
  }

  /** Data of today can be read for the retention; it may have been sent up to a day ahead, and archived late. */
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

function deletionKey(
  { tenantId, partition }: PartitionRef,
  sourceId: Id,
  { selector, fromMs, toMs }: VersionedDeletion,
) {
  const { name, isPrefix } = selector;
  const id = idOf('deletion', name, ...[isPrefix, fromMs, toMs, partition].map(String));
  return metaKeys.deletion(tenantId, sourceId, id);
}

/** A deletion's version, and a text that is later in the order of text for a higher version. */
function versionTexts({ version }: VersionedDeletion): { version: string; place: string } {
  const bytes = Buffer.from(encodeVersion(version));
  // Arrival time in 6 bytes, then the sequence number with its length.
  const place = Buffer.concat([bytes.subarray(6), bytes.subarray(0, 6)]);
  return { version: bytes.toString('hex'), place: place.toString('hex') };
}

/** Cut as it is read, because items of earlier releases have no end either. */
function deletionOf(item: Item): VersionedDeletion {
  return withinKnownEpochs({
    selector: { name: item.name!.S!, isPrefix: item.isPrefix!.BOOL! },
    fromMs: Number(item.fromMs!.N),
    toMs: Number(item.toMs!.N),
    version: decodeVersion(Buffer.from(item.version!.S!, 'hex')),
  });
}

/** On which day a layout was put, and the earliest sample time that it has had since, as one number. */
type PutMemo = number;

const MEMO_SECONDS = 2 ** 33;

function dayNumber(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS);
}

function memoOf(day: number, firstMs: number): PutMemo {
  // Rounded up: at worst a layout is put once more.
  return day * MEMO_SECONDS + Math.min(MEMO_SECONDS - 1, Math.max(0, Math.ceil(firstMs / 1000)));
}

function isPutOn(day: number, firstMs: number, memo: PutMemo): boolean {
  return Math.floor(memo / MEMO_SECONDS) === day && (memo % MEMO_SECONDS) * 1000 <= firstMs;
}

/** The sources of a pool's layout, each with the pool; none of a source's own layout. */
function poolOfMembers(tenantId: Id, owner: Id, packed: Uint8Array): Map<Id, Id> {
  const bytes = unpackLayout(packed);
  // All series of one source have the labels that name it.
  if (sourceIdOf(tenantId, sourceOf.labels(commonLabels(bytes))) === owner) return new Map();
  const sources = new Map(
    decodeLayout(bytes).series.map((labels) => {
      const source = sourceOf.labels(labels);
      return [labelsKey(source), source];
    }),
  );
  return new Map(Array.from(sources.values(), (source) => [sourceIdOf(tenantId, source), owner]));
}

function writtenAs(group: GroupId, layoutId: Id, windowMs: number): string {
  return `${group}#${layoutId}#${windowMs}`;
}
