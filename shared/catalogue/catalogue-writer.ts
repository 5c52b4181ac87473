import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import type { PackedLayout } from '../model/packed-layout';
import { type GroupId, sourceIdOfGroup } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { metaKeys } from '../platform/keys';
import { insertItems, type Table, updateItem, updateItemIf } from '../platform/table';
import { Catalogue } from './catalogue';
import { IndexWriter } from './index-table';
import { expiresAtOf, renewalPeriodOf } from './lifetimes';
import { poolOfMembers } from './pool-table';
import { SourceRenewal } from './source-index';

/** A layout to put into the catalogue before samples with this layout are written. */
export interface GroupLayout extends Pick<PackedLayout, 'id' | 'packed' | 'bytes'> {
  readonly group: GroupId;
  /** Lower bound on the timestamps of the samples about to be written, in ms. */
  readonly firstMs: number;
}

/** The outcome of putting one layout. */
export interface PutLayout {
  /** Whether the layout was new to the catalogue. */
  readonly isNew: boolean;
  /** Whether the layout's source was new, too. */
  readonly isOfNewSource: boolean;
}

/** Estimated memory of a remembered number and of the object of its key, in bytes. */
const NUMBER_BYTES = 80;
/** Maximum number of requests that one call sends at the same time. */
const PARALLEL = 32;

/**
 * Puts layouts, index entries, sources and pools into the catalogue. Remembers what it has written, so that it does not
 * write anything twice. Functions that only read use {@link Catalogue} instead, and so need no memory for this record.
 */
export class CatalogueWriter extends Catalogue {
  readonly indexWriter: IndexWriter;
  private readonly renewal: SourceRenewal;
  /**
   * Remembers the layouts ({@link LastPut}) and index entries that this instance has written, and the renewal period in
   * which it last renewed each source and pool.
   */
  private readonly written = new Cache<number>(CACHES.catalogued, (_, key) => NUMBER_BYTES + key.length);

  constructor(table: Table, retentionMs: number, now: () => number = Date.now) {
    super(table, retentionMs, now);
    this.indexWriter = new IndexWriter(table, retentionMs, this.written, this.changes);
    this.renewal = new SourceRenewal(table, retentionMs, this.written, now);
  }

  /**
   * Puts a layout of a group, or renews it. Does nothing if this instance has already put the layout today
   * with a `firstMs` as low as this one.
   *
   * @param windowMs length, in ms, of the windows in which the layout's samples are written
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
    await this.renewal.renew(tenantId, owner);
    await this.keepPools(tenantId, poolOfMembers(tenantId, owner, layout));
    this.written.set(known, lastPutOf(day, lowestMs));
    return isNew;
  }

  /**
   * Puts layouts, like {@link put}. Layouts that this instance has never written are nearly always new, so it inserts
   * them in batches. A layout that could not be inserted, for example because it already exists, is put separately.
   *
   * @returns an outcome for each layout
   */
  async putAll(tenantId: Id, layouts: readonly GroupLayout[], windowMs: number): Promise<PutLayout[]> {
    const unseen = layouts.filter(
      ({ group, id }) => this.written.get(writtenAs(group, id, windowMs)) === undefined,
    );
    const inserted = await this.insert(tenantId, unseen, windowMs);
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
   * Inserts layouts in batches, and the items of their sources in the list of sources (source-index.ts).
   *
   * @returns only the layouts that were inserted; the caller puts the existing layouts one at a time
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
    const index = sources.map((sourceId) => this.renewal.itemOf(tenantId, sourceId));
    const members = layouts.map((layout) => poolOfMembers(tenantId, sourceIdOfGroup(layout.group), layout));
    await this.keepPools(tenantId, new Map(members.flatMap((pools) => [...pools])));
    const outcomes = await insertItems(this.table, [...items, ...index]);
    const done = outcomes.map((outcome) => outcome === 'inserted');
    const newSources = new Set(sources.filter((_, i) => done[items.length + i]));
    for (const sourceId of newSources) this.renewal.noteRenewed(sourceId);
    // A source that was not inserted already exists, and its item may be about to expire.
    await mapLimited(sources, PARALLEL, (sourceId) => this.renewal.renew(tenantId, sourceId));
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

  /**
   * Returns the expiry time for an item that is written now: Unix time in seconds, later than that of today's samples.
   */
  private expiresAt(): number {
    return expiresAtOf(this.now(), this.retentionMs);
  }
}

/**
 * An instance's record of its last put of a layout: the day of the put, and the lower bound on the samples' timestamps
 * that the catalogue has for the layout. Both are packed into one number, because an instance remembers hundreds of
 * thousands of them.
 */
type LastPut = number;

/**
 * Upper bound on Unix time in seconds. It is reached in the year 2242. The packed number is the day multiplied by this
 * bound, plus the time.
 */
const MAX_SECONDS = 2 ** 33;

/** Returns the number of a UTC day since 1970. */
function dayNumber(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS);
}

function lastPutOf(day: number, firstMs: number): LastPut {
  // Rounding up to a second is safe: at worst, the layout is put once more than necessary.
  return day * MAX_SECONDS + Math.min(MAX_SECONDS - 1, Math.max(0, Math.ceil(firstMs / 1000)));
}

/** Whether a layout was put on `day`, with a lower bound of at most `firstMs`. */
function isPutOn(day: number, firstMs: number, last: LastPut): boolean {
  return Math.floor(last / MAX_SECONDS) === day && (last % MAX_SECONDS) * 1000 <= firstMs;
}

/** Returns the key under which an instance stores a layout's {@link LastPut} in its map. */
function writtenAs(group: GroupId, layoutId: Id, windowMs: number): string {
  return `${group}#${layoutId}#${windowMs}`;
}
