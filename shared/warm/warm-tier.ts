import { DeleteItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { idOf } from '../model/id';
import type { Day, GroupId, PartitionRef } from '../model/placement';
import { type WarmPlace, warmKeys } from '../platform/keys';
import { deleteItems, type Item, queryAll, succeeds, type Table } from '../platform/table';

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

  /** Reads every item of a partition-day, group after group. */
  async *day(ref: PartitionRef, day: Day): AsyncGenerator<WarmItem> {
    for await (const item of queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: warmKeys.partition(ref, day) } },
    }))
      yield warmItemOf(item);
  }

  /** Reads the revisions of a partition-day's items, by sort key. */
  async revisions(ref: PartitionRef, day: Day): Promise<Map<string, string>> {
    const revisions = new Map<string, string>();
    for await (const item of queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: warmKeys.partition(ref, day) } },
      ProjectionExpression: 'sk, revision',
    }))
      revisions.set(item.sk!.S!, item.revision!.S!);
    return revisions;
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
            expiresAt: { N: String(Math.ceil((this.now() + this.ttlMs) / 1000)) },
          },
          ConditionExpression: previous === undefined ? 'attribute_not_exists(pk)' : 'revision = :previous',
          ExpressionAttributeValues: previous === undefined ? undefined : { ':previous': { S: previous } },
        }),
      ),
    );
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

  private async query(ref: PartitionRef, day: Day, from: string, to: string): Promise<WarmItem[]> {
    const items: WarmItem[] = [];
    for await (const item of queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
      ExpressionAttributeValues: {
        ':pk': { S: warmKeys.partition(ref, day) },
        ':from': { S: from },
        ':to': { S: to },
      },
    }))
      items.push(warmItemOf(item));
    return items;
  }
}

function warmItemOf(item: Item): WarmItem {
  return {
    ...warmKeys.parseSort(item.sk!.S!),
    revision: item.revision!.S!,
    chunk: item.chunk!.B!,
  };
}
