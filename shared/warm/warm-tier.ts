import { DAY_MS } from '../model/duration';
import { idOf } from '../model/id';
import type { Day, GroupId, PartitionRef } from '../model/placement';
import { anyLimiter, JoinedCalls, type Limiter, mapLimited } from '../platform/concurrency';
import { type WarmItemKey, warmKeys } from '../platform/keys';
import {
  deleteItemIf,
  deleteItems,
  getItems,
  type Item,
  putItemIf,
  queryAll,
  queryItems,
  type Table,
  updateItem,
  updateItemIf,
} from '../platform/table';
import { planKeys, type WantedWindows } from './plan';
import type { WarmItem } from './warm-item';
import { WarmItemCache } from './warm-item-cache';

/** The items that a read wants from one group and day. */
export interface GroupRequest extends WantedWindows {
  readonly group: GroupId;
  /** Limits the number of concurrent requests of several reads. */
  readonly limit: Limiter;
}

/** Half-open range of group ids. */
export interface GroupRange {
  readonly from: GroupId;
  /** The first group after the range; undefined if the range extends to the last group. */
  readonly to: GroupId | undefined;
}

const EXTEND_PARALLEL = 32;

const ALL_GROUPS: GroupRange = { from: '', to: undefined };

/** Maximum size of an item's chunk, in bytes: DynamoDB's limit of 400 KB, less keys and attributes. */
export const MAX_ITEM_CHUNK_BYTES = 380 * 1024;

export function revisionOf(chunk: Uint8Array): string {
  return idOf('chunk', chunk);
}

/**
 * The warm tier, in DynamoDB.
 *
 *     pk tenant#partition#day   sk group#window#layer#start   chunk: bytes   revision: text   divided: true   expiresAt: seconds
 *     pk tenant#partition#day   sk ~divided                   expiresAt: seconds
 *
 * Nearly every window is one item, whose key can be computed from the window. So reads of many groups get items by key.
 * They also get the marker `~divided`, which the flusher writes before it divides any window of the day among several
 * items. A read that finds the marker falls back to queries.
 *
 * A read may look for the marker just before the flusher writes it, and get an item just after the flusher has divided
 * the window. To let such a read notice this, every item that the flusher writes to a divided window gets the attribute
 * `divided`.
 */
export class WarmTier {
  /** Caches the items that this instance's readers have read. */
  readonly cache = new WarmItemCache();
  /** Concurrent reads of a partition-day. They share requests. */
  private readonly calls = new JoinedCalls<GroupRequest, readonly WarmItem[]>();

  constructor(
    private readonly table: Table,
    private readonly ttlMs: number,
    private readonly now: () => number = Date.now,
  ) {}

  /** Reads the items of one group-window, ordered by layer, then start. */
  async window(ref: PartitionRef, day: Day, group: GroupId, windowStart: number): Promise<WarmItem[]> {
    const prefix = warmKeys.windowPrefix(group, windowStart);
    return this.query(ref, day, prefix, `${prefix}~`);
  }

  /** Reads a group's items of one day whose windows start in `[fromMs, toMs)`, in order. */
  async group(
    ref: PartitionRef,
    day: Day,
    group: GroupId,
    fromMs: number,
    toMs: number,
  ): Promise<WarmItem[]> {
    return this.query(ref, day, warmKeys.groupFrom(group, fromMs), warmKeys.groupFrom(group, toMs));
  }

  /** Reads the same items as {@link group}. Concurrent reads of several groups share requests. */
  groupTogether(ref: PartitionRef, day: Day, request: GroupRequest): Promise<readonly WarmItem[]> {
    return this.calls.add(warmKeys.partition(ref, day), request, async (requests) => {
      const starts = planKeys(requests);
      const found = starts && (await this.byKeys(ref, day, requests, starts));
      return Promise.all(
        requests.map((each, i) => found?.[i] ?? each.limit(() => this.byQuery(ref, day, each))),
      );
    });
  }

  private byQuery(ref: PartitionRef, day: Day, { group, windowsFromMs, windowsToMs }: GroupRequest) {
    return this.group(ref, day, group, windowsFromMs, windowsToMs);
  }

  /**
   * Reads the items of requests by key.
   *
   * @returns the items for each request; undefined for a request that needs a query, because its windows may be divided
   *   among several items
   */
  private async byKeys(
    ref: PartitionRef,
    day: Day,
    requests: readonly GroupRequest[],
    starts: readonly (readonly number[])[],
  ): Promise<(readonly WarmItem[] | undefined)[]> {
    const keys = new Map(
      requests.flatMap(({ group }, i) =>
        starts[i]!.map((startMs) => {
          const key = warmKeys.item(ref, day, { group, windowStart: startMs, layer: 0, startMs });
          return [key.sk.S, key] as const;
        }),
      ),
    );
    const bound = anyLimiter(requests.map(({ limit }) => limit));
    const all = await bound(() =>
      getItems(this.table, [warmKeys.divided(ref, day), ...keys.values()], 'sk, chunk, revision, divided'),
    );
    if (all.some(({ sk }) => sk!.S === warmKeys.dividedSort)) return [];
    const items = new Map(all.map((item) => [item.sk!.S!, item]));
    return requests.map(({ group }, i) => {
      const own = starts[i]!.map((startMs) =>
        items.get(warmKeys.sort({ group, windowStart: startMs, layer: 0, startMs })),
      ).filter((item) => item !== undefined);
      return own.some(({ divided }) => divided?.BOOL) ? undefined : own.map(warmItemOf);
    });
  }

  /**
   * Writes the marker that says that windows of the day are divided among several items. Call it before dividing a
   * window. Repeating the call is safe.
   */
  async noteDivided(ref: PartitionRef, day: Day): Promise<void> {
    await updateItem(this.table, {
      Key: warmKeys.divided(ref, day),
      UpdateExpression: 'SET expiresAt = :expiresAt',
      ExpressionAttributeValues: { ':expiresAt': this.expiresAt(DAY_MS) },
    });
  }

  /** Reads a group's items of one day, in order. */
  async groupOfDay(ref: PartitionRef, day: Day, group: GroupId): Promise<WarmItem[]> {
    return this.query(ref, day, `${group}#`, `${group}$`);
  }

  /** Reads a partition-day's items, ordered by group. */
  async *day(ref: PartitionRef, day: Day, groups: GroupRange = ALL_GROUPS): AsyncGenerator<WarmItem> {
    for await (const item of queryAll(this.table, inGroups(ref, day, groups))) yield warmItemOf(item);
  }

  /** Reads the revisions of a partition-day's items, keyed and ordered by sort key. */
  async revisions(
    ref: PartitionRef,
    day: Day,
    groups: GroupRange = ALL_GROUPS,
  ): Promise<Map<string, string>> {
    const revisions = new Map<string, string>();
    const items = queryAll(this.table, inGroups(ref, day, groups), { ProjectionExpression: 'sk, revision' });
    for await (const item of items) revisions.set(item.sk!.S!, item.revision!.S!);
    return revisions;
  }

  async hasItems(ref: PartitionRef, day: Day): Promise<boolean> {
    const options = { ProjectionExpression: 'pk', Limit: 1 };
    const { done } = await queryAll(this.table, inGroups(ref, day, ALL_GROUPS), options).next();
    return !done;
  }

  /**
   * Puts an item, unless another writer has put or removed the item in the meantime.
   *
   * @param previous the revision to replace; undefined if the item must not exist yet
   * @returns false if another writer came first, in which case nothing was changed
   */
  async put(ref: PartitionRef, day: Day, item: WarmItem, previous: string | undefined): Promise<boolean> {
    return putItemIf(this.table, {
      Item: {
        ...warmKeys.item(ref, day, item),
        chunk: { B: item.chunk },
        revision: { S: item.revision },
        ...(item.isDivided ? { divided: { BOOL: true } } : {}),
        expiresAt: this.expiresAt(),
      },
      ConditionExpression: previous === undefined ? 'attribute_not_exists(pk)' : 'revision = :previous',
      ExpressionAttributeValues: previous === undefined ? undefined : { ':previous': { S: previous } },
    });
  }

  /**
   * Renews the time to live of a partition-day's items, as if they were written now.
   *
   * @param beforeMs only items that expire before this time, as Unix time in ms, are renewed
   * @returns the number of renewed items; each renewal costs as many write units as writing the item
   */
  async extend(ref: PartitionRef, day: Day, beforeMs: number): Promise<number> {
    const expiring = queryAll(this.table, inGroups(ref, day, ALL_GROUPS), {
      ProjectionExpression: 'sk, expiresAt',
      FilterExpression: 'expiresAt < :before',
      ExpressionAttributeValues: { ':before': { N: String(Math.ceil(beforeMs / 1000)) } },
    });
    const sortKeys: string[] = [];
    for await (const { sk } of expiring) sortKeys.push(sk!.S!);
    if (sortKeys.length === 0) return 0;
    // Renew the marker first: it must outlive the items even if the invocation ends before all of them are
    // renewed.
    await this.renew(warmKeys.divided(ref, day), DAY_MS);
    const pk = { S: warmKeys.partition(ref, day) };
    const extended = await mapLimited(sortKeys, EXTEND_PARALLEL, (sk) => this.renew({ pk, sk: { S: sk } }));
    return extended.filter(Boolean).length;
  }

  /** Renews the time to live of an item. Returns false, and changes nothing, if the item does not exist. */
  private renew(key: Item, longerMs = 0): Promise<boolean> {
    return updateItemIf(this.table, {
      Key: key,
      UpdateExpression: 'SET expiresAt = :expiresAt',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeValues: { ':expiresAt': this.expiresAt(longerMs) },
    });
  }

  /** Deletes an item. @returns false if the item has another revision, in which case nothing was changed */
  async delete(ref: PartitionRef, day: Day, sortKey: string, revision: string): Promise<boolean> {
    return deleteItemIf(this.table, {
      Key: { pk: { S: warmKeys.partition(ref, day) }, sk: { S: sortKey } },
      ConditionExpression: 'attribute_not_exists(pk) OR revision = :revision',
      ExpressionAttributeValues: { ':revision': { S: revision } },
    });
  }

  /**
   * Adds up the sizes of a partition-day's chunks, in bytes. Reads every item, which costs one read unit for each 4 KB.
   */
  async bytes(ref: PartitionRef, day: Day): Promise<number> {
    let bytes = 0;
    for await (const { chunk } of this.day(ref, day)) bytes += chunk.length;
    return bytes;
  }

  /**
   * Deletes all items of a partition-day, regardless of their revisions.
   *
   * @param hasTime called before each slice of items; if it returns false, the deletion ends
   * @returns the number of deleted items; `isDone` is false if time was up before all were deleted
   */
  async erase(
    ref: PartitionRef,
    day: Day,
    hasTime: () => boolean,
  ): Promise<{ items: number; isDone: boolean }> {
    const range = { pk: warmKeys.partition(ref, day) };
    const items = queryAll(this.table, range, { ProjectionExpression: 'pk, sk' });
    return deleteItems(this.table, items, hasTime);
  }

  /** Returns an item's place in human-readable form: `table: partition key / sort key`. */
  placeOf(ref: PartitionRef, day: Day, item: WarmItemKey): string {
    return `${this.table.name}: ${warmKeys.partition(ref, day)} / ${warmKeys.sort(item)}`;
  }

  private expiresAt(longerMs = 0) {
    return { N: String(Math.ceil((this.now() + this.ttlMs + longerMs) / 1000)) };
  }

  private async query(ref: PartitionRef, day: Day, from: string, to: string): Promise<WarmItem[]> {
    const range = { pk: warmKeys.partition(ref, day), from, to };
    const items = await queryItems(this.table, range, { ProjectionExpression: 'sk, chunk, revision' });
    return items.map(warmItemOf);
  }
}

function inGroups(ref: PartitionRef, day: Day, { from, to }: GroupRange) {
  return {
    pk: warmKeys.partition(ref, day),
    from: from === '' ? ' ' : from,
    // The group `to` is excluded: the sort keys of its items are longer than its id, so they come after it.
    to: to ?? '~',
  };
}

function warmItemOf(item: Item): WarmItem {
  return {
    ...warmKeys.parseSort(item.sk!.S!),
    revision: item.revision!.S!,
    chunk: item.chunk!.B!,
  };
}
