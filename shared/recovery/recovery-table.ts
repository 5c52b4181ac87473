import { randomUUID } from 'node:crypto';
import type { PartitionRef } from '../model/placement';
import { type ItemKey, metaKeys } from '../platform/keys';
import {
  deleteItem,
  getItem,
  type Item,
  putItem,
  putItemIf,
  queryItems,
  type Table,
  updateItem,
} from '../platform/table';
import type { ConsumerNote } from './consumer-lag';
import type { Era } from './era';

/** A loss of acknowledged samples from memory. It is open until a replay has appended the samples again. */
export interface Loss {
  readonly id: string;
  /** The lost samples arrived in the stream at this time or later, in ms; 0 if the time is unknown. */
  readonly fromMs: number;
  /**
   * Number of times that any loss has been noticed so far. A replay that began before the last notice may have missed
   * samples.
   */
  readonly notices: number;
  readonly isOpen: boolean;
  /** Time of the last notice, by the clock of the instance that noticed the loss, as Unix time in ms. */
  readonly noticedMs: number;
  /** A sentence that tells operators how the loss was first noticed. */
  readonly reason: string;
}

/** A replay: the replayer reads records of the stream and appends their samples to memory again. */
export interface Replay {
  readonly id: string;
  /** Arrival time of the first records that it reads, in ms; 0 means the oldest record in the stream. */
  readonly fromMs: number;
  /**
   * The replay skips records that arrived at this time or later, in ms. It also skips all records after the
   * first heartbeat with its id. Recovery puts such heartbeats into each shard while the replay runs.
   * Infinity if only a heartbeat ends the replay.
   */
  readonly toMs: number;
  readonly state: 'running' | 'done' | 'stopped';
  readonly startedMs: number;
  readonly endedMs: number | undefined;
  /** UUID of its event source mapping; undefined until the mapping has been created. */
  readonly mapping: string | undefined;
  /** The loss that the replay repairs, with its `notices` when the replay began; undefined without a loss. */
  readonly loss: Pick<Loss, 'id' | 'notices'> | undefined;
}

/** Progress of a replay in one shard. */
export interface ShardProgress {
  readonly shardId: string;
  /** Arrival time of the last record that the replay has read, in ms. */
  readonly arrivedMs: number;
  /** Whether the replay has reached its end in this shard. */
  readonly isPassed: boolean;
}

/**
 * Stores the state of recovery in the meta table. Unless another `pk` is given, items have `pk recovery`:
 *
 *     sk loss                         the last loss
 *     sk replay                       the last replay
 *     sk era                          the primaries of the hot tier (era.ts)
 *     sk scaling                      scalingUntilMs: until when a command may move hash slots
 *     sk progress#replay#shard        the replay's progress in a shard
 *     sk watermark#shard              the shard's watermark: the ingester has appended everything that arrived earlier;
 *                                     lagMs: the watermark's age when it was written
 *     sk flushed#lanes#lane           the flusher lane's flushed-until time: everything that arrived earlier has left
 *                                     memory for the warm tier
 *     sk redriven#object key          redrive-ledger.ts
 *     sk gap#object key               gaps.ts
 *     pk recovery#partitions   sk tenant#partition   every partition that has ever been in memory
 */
export class RecoveryTable {
  constructor(private readonly table: Table) {}

  /** Registers a partition before its first write to memory. Returns whether it is new. */
  async register(ref: PartitionRef): Promise<boolean> {
    const by = randomUUID();
    return putItemIf(this.table, {
      Item: { ...metaKeys.knownPartition(ref), by: { S: by } },
      // If a response is lost, the SDK's retry finds the item that the first attempt wrote. `by` distinguishes this
      // item from another writer's, so that the caller does not report a loss by mistake.
      ConditionExpression: 'attribute_not_exists(pk) OR #by = :by',
      ExpressionAttributeNames: { '#by': 'by' },
      ExpressionAttributeValues: { ':by': { S: by } },
    });
  }

  /**
   * Removes a partition from the register, so that its absence from memory no longer counts as a loss. Repeating the
   * call is safe.
   */
  async unregister(ref: PartitionRef): Promise<void> {
    await deleteItem(this.table, metaKeys.knownPartition(ref));
  }

  async isRegistered(ref: PartitionRef): Promise<boolean> {
    return (await getItem(this.table, metaKeys.knownPartition(ref))) !== undefined;
  }

  /** Reads all registered partitions. */
  async registered(): Promise<PartitionRef[]> {
    const range = { pk: metaKeys.knownPartitions };
    const items = await queryItems(this.table, range, { ProjectionExpression: 'sk' });
    return items.map(({ sk }) => metaKeys.parseKnownPartition(sk!.S!));
  }

  /** Reads the last loss, open or closed. */
  async loss(): Promise<Loss | undefined> {
    const item = await getItem(this.table, metaKeys.loss);
    return item && lossOf(item);
  }

  /** Records that a loss was noticed: opens a new loss, or adds a notice to the open one. */
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

  /** Closes a loss, unless it was noticed again after it was read. */
  async closeLoss(loss: Loss): Promise<void> {
    await this.replaceLoss({ ...loss, isOpen: false }, loss);
  }

  private async replaceLoss(loss: Loss, last: Loss | undefined): Promise<boolean> {
    return this.replaceBody(metaKeys.loss, JSON.stringify(loss), last && JSON.stringify(last));
  }

  /**
   * Replaces the body of an item if the body is still `last`. Also succeeds if the item already has the new body: the
   * SDK may be retrying a write whose response was lost. So two writers of the same body both succeed.
   *
   * @param last the body when it was read; undefined if there was no item
   * @returns false if another writer has written a different body
   */
  private async replaceBody(key: ItemKey, body: string, last: string | undefined): Promise<boolean> {
    return putItemIf(this.table, {
      Item: { ...key, body: { S: body } },
      ConditionExpression: `${last === undefined ? 'attribute_not_exists(pk)' : 'body = :last'} OR body = :body`,
      ExpressionAttributeValues: {
        ':body': { S: body },
        ...(last === undefined ? {} : { ':last': { S: last } }),
      },
    });
  }

  /** Reads the last replay, running or not. */
  async replay(): Promise<Replay | undefined> {
    const item = await getItem(this.table, metaKeys.replay);
    return item && replayOf(item);
  }

  /** Replaces the last replay if it is still `last`. Returns false if another writer has changed it. */
  async putReplay(replay: Replay, last: Replay | undefined): Promise<boolean> {
    return this.replaceBody(metaKeys.replay, replayText(replay), last && replayText(last));
  }

  async era(): Promise<Era | undefined> {
    const item = await getItem(this.table, metaKeys.era);
    return item && (JSON.parse(item.body!.S!) as Era);
  }

  /** Replaces the era if it is still `last`. Returns false if another writer has changed it. */
  async putEra(era: Era, last: Era | undefined): Promise<boolean> {
    return this.replaceBody(metaKeys.era, JSON.stringify(era), last && JSON.stringify(last));
  }

  /**
   * Returns until when a command may move hash slots, as Unix time in ms. The time is 0 or in the past if no command is
   * moving slots.
   */
  async scalingUntilMs(): Promise<number> {
    const item = await getItem(this.table, metaKeys.scaling);
    return Number(item?.scalingUntilMs?.N ?? 0);
  }

  /** Records until when a command may move hash slots, as Unix time in ms. 0 means that the command has ended. */
  async putScalingUntil(untilMs: number): Promise<void> {
    await putItem(this.table, { ...metaKeys.scaling, scalingUntilMs: { N: String(untilMs) } });
  }

  /** Reads a replay's progress in each shard that it has begun to read. */
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
    await updateItem(this.table, {
      Key: metaKeys.progress(replay.id, shardId),
      // Never removes `passed`, which an earlier write may have set.
      UpdateExpression: `SET arrivedMs = :arrived, expiresAt = :expires${isPassed ? ', passed = :yes' : ''}`,
      ExpressionAttributeValues: {
        ':arrived': { N: String(arrivedMs) },
        ':expires': { N: String(Math.floor(Date.now() / 1000) + PROGRESS_TTL_S) },
        ...(isPassed ? { ':yes': { BOOL: true } } : {}),
      },
    });
  }

  /**
   * Reads the watermarks by shard id, as Unix time in ms. Every record of the shard that arrived earlier has been
   * appended to memory. A watermark is 0 if unknown.
   */
  async watermarks(): Promise<Map<string, number>> {
    const notes = await this.consumerNotes();
    return new Map(Array.from(notes, ([shardId, { arrivedMs }]) => [shardId, arrivedMs]));
  }

  /** Reads the last note of each shard's consumer, by shard id. */
  async consumerNotes(): Promise<Map<string, ConsumerNote>> {
    const prefix = metaKeys.watermarkPrefix;
    const items = await this.all(prefix);
    return new Map(
      items.map(({ sk, arrivedMs, lagMs }) => [
        sk!.S!.slice(prefix.length),
        { arrivedMs: Number(arrivedMs!.N), lagMs: Number(lagMs!.N) },
      ]),
    );
  }

  async putWatermark(shardId: string, { arrivedMs, lagMs }: ConsumerNote): Promise<void> {
    await this.put(metaKeys.watermark(shardId), arrivedMs, { lagMs: { N: String(lagMs) } });
  }

  /**
   * Gives a shard the watermark 0, unless the shard already has one. Until the consumer of the shard writes a higher
   * watermark, the flushed-until times do not advance.
   */
  async beginWatermark(shardId: string): Promise<void> {
    await putItemIf(this.table, {
      Item: { ...metaKeys.watermark(shardId), arrivedMs: { N: '0' }, lagMs: { N: '0' } },
      ConditionExpression: 'attribute_not_exists(pk)',
    });
  }

  async deleteWatermark(shardId: string): Promise<void> {
    await deleteItem(this.table, metaKeys.watermark(shardId));
  }

  /** Writes a lane's flushed-until time: samples of its partitions that arrived earlier have left memory. */
  async putFlushed(lane: number, lanes: number, arrivedMs: number): Promise<void> {
    await this.put(metaKeys.flushed(lanes, lane), arrivedMs);
  }

  /** Reads the lowest flushed-until time of all lanes, in ms; 0 if any lane has not written one yet. */
  async flushedUntilMs(lanes: number): Promise<number> {
    const items = await this.all(metaKeys.flushedPrefix(lanes));
    return items.length < lanes ? 0 : Math.min(...items.map((item) => Number(item.arrivedMs!.N)));
  }

  private async put(key: ItemKey, arrivedMs: number, more: Item = {}): Promise<void> {
    await putItem(this.table, { ...key, arrivedMs: { N: String(arrivedMs) }, ...more });
  }

  private all(prefix: string): Promise<Item[]> {
    return queryItems(this.table, { pk: metaKeys.recovery, prefix });
  }
}

/** How long the progress of a replay is kept, in seconds. */
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
