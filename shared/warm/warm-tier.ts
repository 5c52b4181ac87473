import { DeleteItemCommand, PutItemCommand, QueryCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { idOf } from '../model/id';
import type { Day, GroupId, PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { type WarmPlace, warmKeys } from '../platform/keys';
import { deleteItems, type Item, queryAll, queryItems, succeeds, type Table } from '../platform/table';
import { ItemMemo } from './known-items';

/**
 * One chunk in DynamoDB: a group's window, or a part of it when the whole exceeds an item. Parts are ranges of time. A
 * window with more series than one layout can name has several layers.
 */
export interface WarmItem {
  readonly group: GroupId;
  readonly windowStart: number;
  /** 0 for the first layer, which is nearly always the only one. */
  readonly layer: number;
  /** Start of the part, ms; a window's first part starts with the window. */
  readonly startMs: number;
  /** Hash of the chunk, which conditional writes and the archive's record compare. */
  readonly revision: string;
  readonly chunk: Uint8Array;
}

/** Groups from one on, and before another. */
export interface GroupRange {
  readonly from: GroupId;
  /** Undefined: to the last. */
  readonly to: GroupId | undefined;
}

const EXTEND_PARALLEL = 32;

const ALL_GROUPS: GroupRange = { from: '', to: undefined };

/** Largest chunk of an item: DynamoDB's 400 KB less keys and attributes. */
export const MAX_ITEM_CHUNK_BYTES = 380 * 1024;

export function revisionOf(chunk: Uint8Array): string {
  return idOf('chunk', chunk);
}

/**
 * The disk tier, in DynamoDB.
 *
 *     pk tenant#partition#day   sk group#window#layer#start   chunk: bytes   revision: text   expiresAt: seconds
 */
export class WarmTier {
  /** What this instance's readers have seen. */
  readonly memo = new ItemMemo();

  constructor(
    private readonly table: Table,
    private readonly ttlMs: number,
    private readonly now: () => number = Date.now,
  ) {}

  /** Reads the items of one group-window, by layer, then start. */
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

  /** Reads a group's items of one day, in order. */
  async groupOfDay(ref: PartitionRef, day: Day, group: GroupId): Promise<WarmItem[]> {
    return this.query(ref, day, `${group}#`, `${group}$`);
  }

  /** Reads a partition-day's items, group after group. */
  async *day(ref: PartitionRef, day: Day, groups: GroupRange = ALL_GROUPS): AsyncGenerator<WarmItem> {
    for await (const item of queryAll(this.table, inGroups(ref, day, groups))) yield warmItemOf(item);
  }

  /** Reads the revisions of a partition-day's items, in order, by sort key. */
  async revisions(
    ref: PartitionRef,
    day: Day,
    groups: GroupRange = ALL_GROUPS,
  ): Promise<Map<string, string>> {
    const revisions = new Map<string, string>();
    for await (const item of queryAll(this.table, {
      ...inGroups(ref, day, groups),
      ProjectionExpression: 'sk, revision',
    }))
      revisions.set(item.sk!.S!, item.revision!.S!);
    return revisions;
  }

  /** Whether a partition-day has items. */
  async hasItems(ref: PartitionRef, day: Day): Promise<boolean> {
    const { Count } = await this.table.client.send(
      new QueryCommand({
        TableName: this.table.name,
        ...inGroups(ref, day, ALL_GROUPS),
        Select: 'COUNT',
        Limit: 1,
        ConsistentRead: true,
      }),
    );
    return Count! > 0;
  }

  /**
   * Puts a part.
   *
   * @param previous the revision it replaces, or undefined when there was none
   * @returns false when another writer came first; nothing was changed
   */
  async put(ref: PartitionRef, day: Day, item: WarmItem, previous: string | undefined): Promise<boolean> {
    return succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: {
            ...warmKeys.item(ref, day, item),
            chunk: { B: item.chunk },
            revision: { S: item.revision },
            expiresAt: this.expiresAt(),
          },
          ConditionExpression: previous === undefined ? 'attribute_not_exists(pk)' : 'revision = :previous',
          ExpressionAttributeValues: previous === undefined ? undefined : { ':previous': { S: previous } },
        }),
      ),
    );
  }

  /**
   * Lets a partition-day's items live as if they were written now.
   *
   * @param beforeMs only those that expire before it, ms since epoch
   * @returns how many: each costs the write units of its size
   */
  async extend(ref: PartitionRef, day: Day, beforeMs: number): Promise<number> {
    const expiring = queryAll(this.table, {
      ...inGroups(ref, day, ALL_GROUPS),
      ProjectionExpression: 'sk, expiresAt',
      FilterExpression: 'expiresAt < :before',
      ExpressionAttributeValues: {
        ...inGroups(ref, day, ALL_GROUPS).ExpressionAttributeValues,
        ':before': { N: String(Math.ceil(beforeMs / 1000)) },
      },
    });
    const sortKeys: string[] = [];
    for await (const { sk } of expiring) sortKeys.push(sk!.S!);
    const extended = await mapLimited(sortKeys, EXTEND_PARALLEL, (sk) =>
      // Not one that was purged meanwhile.
      succeeds(
        this.table.client.send(
          new UpdateItemCommand({
            TableName: this.table.name,
            Key: { pk: { S: warmKeys.partition(ref, day) }, sk: { S: sk } },
            UpdateExpression: 'SET expiresAt = :expiresAt',
            ConditionExpression: 'attribute_exists(pk)',
            ExpressionAttributeValues: { ':expiresAt': this.expiresAt() },
          }),
        ),
      ),
    );
    return extended.filter(Boolean).length;
  }

  /** @returns false when the item has another revision; nothing was changed */
  async delete(ref: PartitionRef, day: Day, sortKey: string, revision: string): Promise<boolean> {
    return succeeds(
      this.table.client.send(
        new DeleteItemCommand({
          TableName: this.table.name,
          Key: { pk: { S: warmKeys.partition(ref, day) }, sk: { S: sortKey } },
          ConditionExpression: 'attribute_not_exists(pk) OR revision = :revision',
          ExpressionAttributeValues: { ':revision': { S: revision } },
        }),
      ),
    );
  }

  /** Counts the bytes of a partition-day's chunks. Reads every item: one read unit for each 4 KB. */
  async bytes(ref: PartitionRef, day: Day): Promise<number> {
    let bytes = 0;
    for await (const { chunk } of this.day(ref, day)) bytes += chunk.length;
    return bytes;
  }

  /**
   * Deletes a partition-day's items, whatever their revisions.
   *
   * @param hasTime asked before each batch
   * @returns how many were deleted; `isDone` is false when time was up first
   */
  async erase(
    ref: PartitionRef,
    day: Day,
    hasTime: () => boolean,
  ): Promise<{ items: number; isDone: boolean }> {
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: warmKeys.partition(ref, day) } },
      ProjectionExpression: 'pk, sk',
    });
    return deleteItems(this.table, items, hasTime);
  }

  /** Names an item's place for people: `table: partition key / sort key`. */
  placeOf(ref: PartitionRef, day: Day, item: WarmPlace): string {
    return `${this.table.name}: ${warmKeys.partition(ref, day)} / ${warmKeys.sort(item)}`;
  }

  private expiresAt() {
    return { N: String(Math.ceil((this.now() + this.ttlMs) / 1000)) };
  }

  private async query(ref: PartitionRef, day: Day, from: string, to: string): Promise<WarmItem[]> {
    const items = await queryItems(this.table, {
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
      ExpressionAttributeValues: {
        ':pk': { S: warmKeys.partition(ref, day) },
        ':from': { S: from },
        ':to': { S: to },
      },
      ProjectionExpression: 'sk, chunk, revision',
    });
    return items.map(warmItemOf);
  }
}

function inGroups(ref: PartitionRef, day: Day, { from, to }: GroupRange) {
  return {
    KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
    ExpressionAttributeValues: {
      ':pk': { S: warmKeys.partition(ref, day) },
      // Sort keys go on after the group: the last one is excluded.
      ':from': { S: from === '' ? ' ' : from },
      ':to': { S: to ?? '~' },
    },
  };
}

function warmItemOf(item: Item): WarmItem {
  return {
    ...warmKeys.parseSort(item.sk!.S!),
    revision: item.revision!.S!,
    chunk: item.chunk!.B!,
  };
}
