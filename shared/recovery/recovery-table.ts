import { randomUUID } from 'node:crypto';
import {
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { PartitionRef } from '../model/placement';
import { type ItemKey, metaKeys } from '../platform/keys';
import { type Item, queryAll, succeeds, type Table } from '../platform/table';
import type { ReaderNote } from './consumer-lag';
import type { Era } from './era';

/**
 * A loss of acknowledged samples from memory. It stays open until a replay has read the samples from the
 * stream again.
 */
export interface Loss {
  readonly id: string;
  /** Everything lost arrived in the stream at this time or later, ms; 0 when the time is unknown. */
  readonly fromMs: number;
  /** How often the loss was noticed. A replay that began before the last notice may have missed samples. */
  readonly notices: number;
  readonly isOpen: boolean;
  /** Time of the last notice, ms, by the clock of the instance that noticed. */
  readonly noticedMs: number;
  readonly reason: string;
}

/** A second reading of a part of the stream. */
export interface Replay {
  readonly id: string;
  /** Half-open span of stream arrival times, ms. `fromMs` 0 means the oldest record in the stream. */
  readonly fromMs: number;
  /** Infinity means the end of the stream when the replay began. */
  readonly toMs: number;
  readonly state: 'running' | 'done' | 'stopped';
  readonly startedMs: number;
  readonly endedMs: number | undefined;
  /** UUID of its event source mapping; undefined until the mapping is created. */
  readonly mapping: string | undefined;
  /** The loss this replay repairs, and how many of its notices it covers. */
  readonly loss: Pick<Loss, 'id' | 'notices'> | undefined;
}

/** A replay's progress in one shard. */
export interface ShardProgress {
  readonly shardId: string;
  /** Arrival time of the last record read again, ms. */
  readonly arrivedMs: number;
  /** Whether the replay has reached its end in this shard. */
  readonly isPassed: boolean;
}

/**
 * Recovery's state, in the meta table. Unless another `pk` is given, items have `pk recovery`:
 *
 *     sk loss                         the last loss
 *     sk replay                       the last replay
 *     sk era                          the primaries of the hot tier (era.ts)
 *     sk scaling                      untilMs: end of a command's time to move slots; pressedUntilMs: end of the time in which
 *                                     reads yield, because a node is short of memory or CPU, or slots are moving
 *     sk progress#replay#shard        the replay's progress in a shard
 *     sk position#shard               the shard's watermark: the live reader has appended everything that arrived earlier;
 *                                     lagMs: the watermark's age when it was written
 *     sk flushed#lanes#lane           the flusher lane's watermark: everything that arrived earlier has left memory for the warm tier
 *     sk redriven#object key          redrive-ledger.ts
 *     pk recovery#partitions   sk tenant#partition   every partition that has ever been in memory
 */
export class RecoveryTable {
  constructor(private readonly table: Table) {}

  /** Registers a partition before it is first used in memory. @returns whether it is new */
  async register(ref: PartitionRef): Promise<boolean> {
    const by = randomUUID();
    return succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: { ...metaKeys.knownPartition(ref), by: { S: by } },
          // A retry after a lost answer finds the item that the first attempt wrote. Without `by`, that item
          // would look like another writer's, and the caller would report a loss.
          ConditionExpression: 'attribute_not_exists(pk) OR #by = :by',
          ExpressionAttributeNames: { '#by': 'by' },
          ExpressionAttributeValues: { ':by': { S: by } },
        }),
      ),
    );
  }

  /** Removes a partition from the register, so that its absence from memory is no loss. Safe to repeat. */
  async unregister(ref: PartitionRef): Promise<void> {
    await this.table.client.send(
      new DeleteItemCommand({
        TableName: this.table.name,
        Key: metaKeys.knownPartition(ref),
      }),
    );
  }

  async isRegistered(ref: PartitionRef): Promise<boolean> {
    return (await this.get(metaKeys.knownPartition(ref))) !== undefined;
  }

  /**
   * Reads the registered partitions.
   *
   * @param range half-open range of tenant ids, ordered as text; all by default
   */
  async registered(range?: { readonly from: string; readonly to: string }): Promise<PartitionRef[]> {
    const refs: PartitionRef[] = [];
    const items = queryAll(this.table, {
      KeyConditionExpression: `pk = :pk${range === undefined ? '' : ' AND sk BETWEEN :from AND :to'}`,
      ExpressionAttributeValues: {
        ':pk': { S: metaKeys.knownPartitions },
        ...(range === undefined ? {} : { ':from': { S: range.from }, ':to': { S: range.to } }),
      },
      ProjectionExpression: 'sk',
    });
    for await (const item of items) refs.push(metaKeys.parseKnownPartition(item.sk!.S!));
    return refs;
  }

  async loss(): Promise<Loss | undefined> {
    const item = await this.get(metaKeys.loss);
    return item && lossOf(item);
  }

  /** Records a loss: opens a new one, or adds a notice to the open one. */
  async notice(fromMs: number, reason: string, nowMs: number): Promise<Loss> {
    for (;;) {
      const last = await this.loss();
      const loss: Loss = last?.isOpen
        ? {
            ...last,
            fromMs: Math.min(last.fromMs, fromMs),
            notices: last.notices + 1,
            noticedMs: nowMs,
          }
        : {
            id: randomUUID(),
            fromMs,
            notices: (last?.notices ?? 0) + 1,
            isOpen: true,
            noticedMs: nowMs,
            reason,
          };
      if (await this.replaceLoss(loss, last)) return loss;
    }
  }

  /** Closes a loss. @returns false if the loss was noticed again since it was read; it then stays open */
  async closeLoss(loss: Loss): Promise<boolean> {
    return this.replaceLoss({ ...loss, isOpen: false }, loss);
  }

  private async replaceLoss(loss: Loss, last: Loss | undefined): Promise<boolean> {
    return this.replaceBody(metaKeys.loss, JSON.stringify(loss), last && JSON.stringify(last));
  }

  /**
   * Replaces an item's body if it is still `last`. Also succeeds if the body is `body` already: the client
   * repeats a write whose answer was lost. If two writers write the same body, both succeed.
   *
   * @param last undefined when there was no item
   * @returns false if another writer has written a different body
   */
  private async replaceBody(key: ItemKey, body: string, last: string | undefined): Promise<boolean> {
    return succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: { ...key, body: { S: body } },
          ConditionExpression: `${last === undefined ? 'attribute_not_exists(pk)' : 'body = :last'} OR body = :body`,
          ExpressionAttributeValues: {
            ':body': { S: body },
            ...(last === undefined ? {} : { ':last': { S: last } }),
          },
        }),
      ),
    );
  }

  async replay(): Promise<Replay | undefined> {
    const item = await this.get(metaKeys.replay);
    return item && replayOf(item);
  }

  /**
   * Replaces the replay if it is still `last`.
   *
   * @returns false if another writer has changed it since `last` was read
   */
  async putReplay(replay: Replay, last: Replay | undefined): Promise<boolean> {
    return this.replaceBody(metaKeys.replay, replayText(replay), last && replayText(last));
  }

  async era(): Promise<Era | undefined> {
    const item = await this.get(metaKeys.era);
    return item && (JSON.parse(item.body!.S!) as Era);
  }

  /**
   * Replaces the era if it is still `last`.
   *
   * @returns false if another writer has changed it since `last` was read
   */
  async putEra(era: Era, last: Era | undefined): Promise<boolean> {
    return this.replaceBody(metaKeys.era, JSON.stringify(era), last && JSON.stringify(last));
  }

  /**
   * Returns the times until which reads let other work go first, ms since epoch: while a command moves slots,
   * and while a node is short of memory or CPU. A time is 0 when there is no such reason.
   */
  async holds(): Promise<{ readonly scalingUntilMs: number; readonly pressedUntilMs: number }> {
    const item = await this.get(metaKeys.scaling);
    return {
      scalingUntilMs: Number(item?.untilMs?.N ?? 0),
      pressedUntilMs: Number(item?.pressedUntilMs?.N ?? 0),
    };
  }

  /** Returns the end of a command's time to move slots, ms since epoch; 0 when no command is at work. */
  async scalingUntilMs(): Promise<number> {
    return (await this.holds()).scalingUntilMs;
  }

  /** Records the end of a command's time to move slots, ms since epoch; 0 when the command has ended. */
  async putScaling(untilMs: number): Promise<void> {
    await this.table.client.send(
      new UpdateItemCommand({
        TableName: this.table.name,
        Key: metaKeys.scaling,
        UpdateExpression: 'SET untilMs = :until',
        ExpressionAttributeValues: { ':until': { N: String(untilMs) } },
      }),
    );
  }

  /**
   * Records the time until which reads let other work go first, ms since epoch, because a node is short of
   * memory or CPU or slots are moving. Never shortens a time that was recorded before.
   */
  async putPressed(untilMs: number, abortSignal?: AbortSignal): Promise<void> {
    await succeeds(
      this.table.client.send(
        new UpdateItemCommand({
          TableName: this.table.name,
          Key: metaKeys.scaling,
          UpdateExpression: 'SET pressedUntilMs = :until',
          ConditionExpression: 'attribute_not_exists(pressedUntilMs) OR pressedUntilMs < :until',
          ExpressionAttributeValues: { ':until': { N: String(untilMs) } },
        }),
        { abortSignal },
      ),
    );
  }

  async progress(replay: Pick<Replay, 'id'>): Promise<ShardProgress[]> {
    const prefix = metaKeys.progressPrefix(replay.id);
    return (await this.all(prefix)).map((item) => ({
      shardId: item.sk!.S!.slice(prefix.length),
      arrivedMs: Number(item.arrivedMs?.N ?? 0),
      isPassed: item.passed !== undefined,
    }));
  }

  async putProgress(
    replay: Pick<Replay, 'id'>,
    { shardId, arrivedMs, isPassed }: ShardProgress,
  ): Promise<void> {
    await this.table.client.send(
      new UpdateItemCommand({
        TableName: this.table.name,
        Key: metaKeys.progress(replay.id, shardId),
        // Does not reset `passed`: an earlier write may have set it.
        UpdateExpression: `SET arrivedMs = :arrived, expiresAt = :expires${isPassed ? ', passed = :yes' : ''}`,
        ExpressionAttributeValues: {
          ':arrived': { N: String(arrivedMs) },
          ':expires': { N: String(Math.floor(Date.now() / 1000) + PROGRESS_TTL_S) },
          ...(isPassed ? { ':yes': { BOOL: true } } : {}),
        },
      }),
    );
  }

  /**
   * Reads each shard's watermark, ms: everything that arrived earlier in the shard has been appended. 0 when
   * unknown.
   */
  async watermarks(): Promise<Map<string, number>> {
    const notes = await this.readerNotes();
    return new Map(Array.from(notes, ([shardId, { arrivedMs }]) => [shardId, arrivedMs]));
  }

  /** Reads the last note of each shard's reader, by shard id. */
  async readerNotes(): Promise<Map<string, ReaderNote>> {
    const prefix = metaKeys.watermarkPrefix;
    const items = await this.all(prefix);
    return new Map(
      items.map(({ sk, arrivedMs, lagMs }) => [
        sk!.S!.slice(prefix.length),
        {
          arrivedMs: Number(arrivedMs!.N),
          lagMs: lagMs?.N === undefined ? undefined : Number(lagMs.N),
        },
      ]),
    );
  }

  async putWatermark(
    shardId: string,
    { arrivedMs, lagMs }: { readonly arrivedMs: number; readonly lagMs: number },
  ): Promise<void> {
    await this.put(metaKeys.watermark(shardId), arrivedMs, { lagMs: { N: String(lagMs) } });
  }

  /**
   * Starts a shard at watermark 0. That holds the flushers' watermarks back until the shard's reader writes.
   */
  async beginWatermark(shardId: string): Promise<void> {
    await succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: { ...metaKeys.watermark(shardId), arrivedMs: { N: '0' } },
          ConditionExpression: 'attribute_not_exists(pk)',
        }),
      ),
    );
  }

  async deleteWatermark(shardId: string): Promise<void> {
    await this.table.client.send(
      new DeleteItemCommand({
        TableName: this.table.name,
        Key: metaKeys.watermark(shardId),
      }),
    );
  }

  async putFlushed(lane: number, lanes: number, arrivedMs: number): Promise<void> {
    await this.put(metaKeys.flushed(lanes, lane), arrivedMs);
  }

  /** Everything that arrived in the stream before this time, ms, has left memory. 0 unless every lane has written. */
  async flushedMs(lanes: number): Promise<number> {
    const items = await this.all(metaKeys.flushedPrefix(lanes));
    return items.length < lanes ? 0 : Math.min(...items.map((item) => Number(item.arrivedMs!.N)));
  }

  private async put(key: ItemKey, arrivedMs: number, more: Item = {}): Promise<void> {
    await this.table.client.send(
      new PutItemCommand({
        TableName: this.table.name,
        Item: { ...key, arrivedMs: { N: String(arrivedMs) }, ...more },
      }),
    );
  }

  private async get(key: ItemKey): Promise<Item | undefined> {
    const { Item } = await this.table.client.send(
      new GetItemCommand({
        TableName: this.table.name,
        Key: key,
        ConsistentRead: true,
      }),
    );
    return Item;
  }

  private async all(prefix: string): Promise<Item[]> {
    const items: Item[] = [];
    const found = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
      ExpressionAttributeValues: { ':pk': { S: metaKeys.recovery }, ':prefix': { S: prefix } },
    });
    for await (const item of found) items.push(item);
    return items;
  }
}

const PROGRESS_TTL_S = 7 * 86_400;

function lossOf(item: Item): Loss {
  return JSON.parse(item.body!.S!) as Loss;
}

/** Encodes Infinity as null, since JSON has no Infinity. */
function replayText(replay: Replay): string {
  return JSON.stringify({ ...replay, toMs: replay.toMs === Infinity ? null : replay.toMs });
}

function replayOf(item: Item): Replay {
  const replay = JSON.parse(item.body!.S!) as Replay & { toMs: number | null };
  return { ...replay, toMs: replay.toMs ?? Infinity };
}
