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

/** Something that memory held was lost: found, and not yet read again from the stream. */
export interface Loss {
  readonly id: string;
  /** What was lost arrived in the stream no earlier, ms; 0 when that is not known. */
  readonly fromMs: number;
  /** How often it was noticed: a replay that began before the last time may lack something. */
  readonly notices: number;
  readonly isOpen: boolean;
  /** When it was noticed last, ms, by the clock of who did. */
  readonly noticedMs: number;
  readonly reason: string;
}

/** A second reading of the stream. */
export interface Replay {
  readonly id: string;
  /** Half-open span of stream arrival times, ms; from 0: from the beginning of what the stream has. */
  readonly fromMs: number;
  /** Infinity: up to where the stream was when the replay began. */
  readonly toMs: number;
  readonly state: 'running' | 'done' | 'stopped';
  readonly startedMs: number;
  readonly endedMs: number | undefined;
  /** UUID of its event source mapping, once there is one. */
  readonly mapping: string | undefined;
  /** The loss it makes good, as it was noticed so far. */
  readonly loss: Pick<Loss, 'id' | 'notices'> | undefined;
}

/** Where a replay has come to in one shard. */
export interface ShardProgress {
  readonly shardId: string;
  /** Arrival time of the last record that was read again, ms. */
  readonly arrivedMs: number;
  readonly isPassed: boolean;
}

/**
 * What recovery knows, in the table of everything that is not a chunk. All under `pk recovery`:
 *
 *     sk loss                         the last loss
 *     sk replay                       the last replay
 *     sk progress#replay#shard        where that has come to
 *     sk position#shard               nothing that arrived earlier on the shard is still to be appended by the live reader
 *     sk flushed#lanes#lane           nothing that arrived earlier is still in memory, in the partitions of that lane
 *     pk recovery#partitions   sk tenant#partition   partitions that memory has had
 */
export class RecoveryTable {
  constructor(private readonly table: Table) {}

  /** @returns whether the partition was not known before; it is from now on */
  async register(ref: PartitionRef): Promise<boolean> {
    return succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: metaKeys.knownPartition(ref),
          ConditionExpression: 'attribute_not_exists(pk)',
        }),
      ),
    );
  }

  /** Forgets a partition: that it is not in memory is no loss from now on. Safe to repeat. */
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

  /** Whether a partition is known, for each that is: asked once for all. */
  async registered(): Promise<(ref: PartitionRef) => boolean> {
    const known = new Set<string>();
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: metaKeys.knownPartitions } },
    });
    for await (const item of items) known.add(item.sk!.S!);
    return (ref) => known.has(metaKeys.knownPartition(ref).sk.S);
  }

  async loss(): Promise<Loss | undefined> {
    const item = await this.get(metaKeys.loss);
    return item && lossOf(item);
  }

  /** Writes a loss down: a new one, or the open one once more. */
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

  /** @returns false when it was noticed again meanwhile */
  async closeLoss(loss: Loss): Promise<boolean> {
    return this.replaceLoss({ ...loss, isOpen: false }, loss);
  }

  private async replaceLoss(loss: Loss, last: Loss | undefined): Promise<boolean> {
    return succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: {
            ...metaKeys.loss,
            body: { S: JSON.stringify(loss) },
          },
          ...(last === undefined
            ? { ConditionExpression: 'attribute_not_exists(pk)' }
            : {
                ConditionExpression: 'body = :last',
                ExpressionAttributeValues: { ':last': { S: JSON.stringify(last) } },
              }),
        }),
      ),
    );
  }

  async replay(): Promise<Replay | undefined> {
    const item = await this.get(metaKeys.replay);
    return item && replayOf(item);
  }

  /** @returns false when another changed it since it was read */
  async putReplay(replay: Replay, last: Replay | undefined): Promise<boolean> {
    return succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: { ...metaKeys.replay, body: { S: replayText(replay) } },
          ...(last === undefined
            ? { ConditionExpression: 'attribute_not_exists(pk)' }
            : {
                ConditionExpression: 'body = :last',
                ExpressionAttributeValues: { ':last': { S: replayText(last) } },
              }),
        }),
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
        // Once passed, always passed.
        UpdateExpression: `SET arrivedMs = :arrived, expiresAt = :expires${isPassed ? ', passed = :yes' : ''}`,
        ExpressionAttributeValues: {
          ':arrived': { N: String(arrivedMs) },
          ':expires': { N: String(Math.floor(Date.now() / 1000) + PROGRESS_TTL_S) },
          ...(isPassed ? { ':yes': { BOOL: true } } : {}),
        },
      }),
    );
  }

  /** Shard id -> nothing that arrived earlier is still to be appended. */
  async positions(): Promise<Map<string, number>> {
    const prefix = metaKeys.positionPrefix;
    const items = await this.all(prefix);
    return new Map(items.map((item) => [item.sk!.S!.slice(prefix.length), Number(item.arrivedMs!.N)]));
  }

  async putPosition(shardId: string, arrivedMs: number): Promise<void> {
    await this.put(metaKeys.position(shardId), arrivedMs);
  }

  /** Nothing is known of a shard until its reader writes. */
  async beginPosition(shardId: string): Promise<void> {
    await succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: { ...metaKeys.position(shardId), arrivedMs: { N: '0' } },
          ConditionExpression: 'attribute_not_exists(pk)',
        }),
      ),
    );
  }

  async deletePosition(shardId: string): Promise<void> {
    await this.table.client.send(
      new DeleteItemCommand({
        TableName: this.table.name,
        Key: metaKeys.position(shardId),
      }),
    );
  }

  async putFlushed(lane: number, lanes: number, arrivedMs: number): Promise<void> {
    await this.put(metaKeys.flushed(lanes, lane), arrivedMs);
  }

  /** Nothing that arrived in the stream earlier, ms, is still in memory; 0 when that is not known of every lane. */
  async flushedMs(lanes: number): Promise<number> {
    const items = await this.all(metaKeys.flushedPrefix(lanes));
    return items.length < lanes ? 0 : Math.min(...items.map((item) => Number(item.arrivedMs!.N)));
  }

  private async put(key: ItemKey, arrivedMs: number): Promise<void> {
    await this.table.client.send(
      new PutItemCommand({
        TableName: this.table.name,
        Item: { ...key, arrivedMs: { N: String(arrivedMs) } },
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

/** JSON has no Infinity. */
function replayText(replay: Replay): string {
  return JSON.stringify({ ...replay, toMs: replay.toMs === Infinity ? null : replay.toMs });
}

function replayOf(item: Item): Replay {
  const replay = JSON.parse(item.body!.S!) as Replay & { toMs: number | null };
  return { ...replay, toMs: replay.toMs ?? Infinity };
}
