import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  GetRecordsCommand,
  GetShardIteratorCommand,
  type KinesisClient,
  ListShardsCommand,
  type Shard,
} from '@aws-sdk/client-kinesis';
import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { batchLength, doneCount, kinesisEvent, type ShardRecord } from './batches';
import type { InvocationResult } from './function-pool';
import type { MappingResource } from './template';
import type { Delivery } from './wiring';

export interface MappingStart {
  readonly position: 'TRIM_HORIZON' | 'LATEST' | 'AT_TIMESTAMP';
  /** Unix time in ms; used with AT_TIMESTAMP. */
  readonly timestampMs?: number;
}

export interface MappingDependencies {
  readonly kinesis: KinesisClient;
  readonly s3: S3Client;
  readonly invoke: (event: unknown) => Promise<InvocationResult>;
  /** Decides how the next batch of a shard is delivered. */
  readonly delivery: (shardId: string) => Delivery;
  /** Decides how many records go into a batch, given the most that would fit. */
  readonly batchLength: (most: number) => number;
  readonly report: (line: string) => void;
}

/**
 * Progress of a mapping: for each shard, the last sequence number that was completed, or {@link FINISHED} if the whole
 * shard is.
 */
type Checkpoints = Record<string, string>;
const FINISHED = 'finished';

const IDLE_MS = 100;
const MAX_BACKOFF_MS = 5_000;
/** Maximum number of records per read. Each may take up to 1 MiB of memory. */
const MAX_READ_RECORDS = 500;
/**
 * Interval at which progress is saved, in ms. After a kill, records that were delivered since the last save are
 * delivered again.
 */
const SAVE_MS = 200;
/** Interval at which the mapping looks for new shards, which a reshard creates, in ms. */
const LIST_SHARDS_MS = 2_000;

/**
 * Reads a stream, and invokes a function with batches of its records. The records of a shard are delivered in order,
 * and a parent shard's records before those of its children. A failed batch is retried before any later batch is
 * delivered; the retries are unlimited unless the mapping limits them.
 */
export class EventSourceMapping {
  private readonly checkpoints: Checkpoints;
  private readonly running = new Map<string, Promise<void>>();
  private isStopping = false;
  private saving: NodeJS.Timeout | undefined;
  private behindMs = 0;
  /** Bytes of all records read so far, partition keys included. */
  bytesRead = 0;
  /** For each shard, the arrival time of the first record of the batch that is being delivered, in ms. */
  private readonly undelivered = new Map<string, number>();

  /**
   * @param checkpointFile stores the progress; undefined for a temporary mapping
   */
  constructor(
    readonly id: string,
    private readonly mapping: MappingResource,
    private readonly start: MappingStart,
    private readonly dependencies: MappingDependencies,
    private readonly checkpointFile: string | undefined,
  ) {
    this.checkpoints = checkpointFile === undefined ? {} : readCheckpoints(checkpointFile);
  }

  /** Consumer lag, in ms. A batch counts as unread while it is being delivered. */
  get lagMs(): number {
    return Math.max(this.behindMs, Date.now() - Math.min(Date.now(), ...this.undelivered.values()));
  }

  /** Whether the mapping was created at run time, not by the template. */
  get isTemporary(): boolean {
    return this.checkpointFile === undefined;
  }

  get resource(): MappingResource {
    return this.mapping;
  }

  async run(): Promise<void> {
    while (!this.isStopping) {
      try {
        await this.startShards();
      } catch (error) {
        if (!this.isStopping)
          this.dependencies.report(`cannot list the stream's shards: ${(error as Error).message}`);
      }
      await sleep(LIST_SHARDS_MS, undefined, { ref: false });
    }
  }

  /** Stops once the batch in progress has been delivered. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.writeCheckpoints();
    await Promise.all(this.running.values());
  }

  private get streamName(): string {
    return this.mapping.streamArn.split('/').at(-1)!;
  }

  private async startShards(): Promise<void> {
    const { Shards = [] } = await this.dependencies.kinesis.send(
      new ListShardsCommand({ StreamName: this.streamName }),
    );
    const ids = new Set(Shards.map(({ ShardId }) => ShardId));
    const isDone = (id: string | undefined) =>
      id === undefined || !ids.has(id) || this.checkpoints[id] === FINISHED;
    for (const shard of Shards) {
      const id = shard.ShardId!;
      if (this.running.has(id) || this.checkpoints[id] === FINISHED) continue;
      if (!isDone(shard.ParentShardId) || !isDone(shard.AdjacentParentShardId)) continue;
      this.running.set(
        id,
        this.readShard(shard).finally(() => this.running.delete(id)),
      );
    }
  }

  private async readShard(shard: Shard): Promise<void> {
    const shardId = shard.ShardId!;
    const { kinesis, report } = this.dependencies;
    let iterator: string | undefined;
    let hasIterator = false;
    let buffered: ShardRecord[] = [];
    let firstBufferedMs = 0;
    while (!this.isStopping) {
      try {
        if (!hasIterator) {
          // An iterator expires after five minutes, or when the stream's server restarts. Checkpoints do not expire.
          iterator = await this.iteratorOf(shardId, shard);
          hasIterator = true;
        }
        if (iterator !== undefined && buffered.length < this.mapping.batchSize) {
          const {
            Records = [],
            NextShardIterator,
            MillisBehindLatest,
          } = await kinesis.send(new GetRecordsCommand({ ShardIterator: iterator, Limit: MAX_READ_RECORDS }));
          iterator = NextShardIterator;
          this.behindMs = MillisBehindLatest ?? 0;
          if (buffered.length === 0) firstBufferedMs = Date.now();
          for (const { Data, PartitionKey } of Records) this.bytesRead += Data!.length + PartitionKey!.length;
          buffered = buffered.concat(
            Records.map((record) => ({
              sequenceNumber: record.SequenceNumber!,
              partitionKey: record.PartitionKey!,
              arrivalMs: record.ApproximateArrivalTimestamp!.getTime(),
              data: record.Data!,
            })),
          );
        }
        if (buffered.length === 0) {
          if (iterator === undefined) {
            this.save(shardId, FINISHED);
            return;
          }
          await sleep(IDLE_MS);
          continue;
        }
        const isFull = buffered.length >= this.mapping.batchSize || iterator === undefined;
        if (!isFull && Date.now() - firstBufferedMs < this.mapping.batchWindowMs) {
          await sleep(Math.min(IDLE_MS, this.mapping.batchWindowMs));
          continue;
        }
        const length = this.dependencies.batchLength(batchLength(buffered, this.mapping.batchSize));
        this.undelivered.set(shardId, buffered[0]!.arrivalMs);
        await this.deliver(shardId, buffered.slice(0, length));
        this.undelivered.delete(shardId);
        buffered = buffered.slice(length);
      } catch (error) {
        if (this.isStopping) return;
        report(`shard ${shardId}: ${(error as Error).message}`);
        await sleep(1_000);
        hasIterator = false;
        buffered = [];
      }
    }
  }

  /** Delivers records until all of them are done or abandoned, or the mapping stops. */
  private async deliver(shardId: string, records: readonly ShardRecord[]): Promise<void> {
    // A stack of pieces of the batch. When a piece is bisected, its halves are pushed, with the first half on top.
    const pieces: { records: readonly ShardRecord[]; retries: number }[] = [{ records, retries: 0 }];
    let backoffMs = 100;
    while (pieces.length > 0 && !this.isStopping) {
      const piece = pieces.pop()!;
      const givenUp = await this.giveUp(shardId, piece.records, piece.retries);
      if (givenUp > 0) {
        const left = piece.records.slice(givenUp);
        if (left.length > 0) pieces.push({ records: left, retries: piece.retries });
        continue;
      }
      const result = await this.invoke(shardId, piece.records);
      const done = result.ok ? doneCount(piece.records, result.payload, this.mapping.reportsItemFailures) : 0;
      if (done > 0) {
        this.save(shardId, piece.records[done - 1]!.sequenceNumber);
        backoffMs = 100;
      }
      const rest = piece.records.slice(done);
      if (rest.length === 0) continue;
      if (!result.ok && this.mapping.bisectOnError && rest.length > 1) {
        // Bisecting does not count as a retry.
        const middle = rest.length >> 1;
        pieces.push({ records: rest.slice(middle), retries: piece.retries });
        pieces.push({ records: rest.slice(0, middle), retries: piece.retries });
      } else {
        pieces.push({ records: rest, retries: piece.retries + 1 });
      }
      if (!result.ok) this.dependencies.report(`${this.mapping.functionName}: ${result.error.errorMessage}`);
      await sleep(backoffMs);
      backoffMs = Math.min(MAX_BACKOFF_MS, backoffMs * 2);
    }
  }

  /**
   * Delivers a batch to the function, possibly late or several times, as `delivery` decides.
   *
   * @returns the result of the last delivery
   */
  private async invoke(shardId: string, records: readonly ShardRecord[]): Promise<InvocationResult> {
    const { invoke, delivery } = this.dependencies;
    const { times, delayMs, isTwiceAtOnce = false } = delivery(shardId);
    if (delayMs > 0) await sleep(delayMs);
    const event = kinesisEvent(records, shardId, this.mapping.streamArn);
    const twin = isTwiceAtOnce ? invoke(event).catch(() => undefined) : undefined;
    let result = await invoke(event);
    await twin;
    for (let n = 1; n < times; n++) result = await invoke(event);
    return result;
  }

  /**
   * If the leading records are too old or were retried too often, writes them to the on-failure destination, payload
   * included.
   *
   * @returns the number of these records
   */
  private async giveUp(shardId: string, all: readonly ShardRecord[], retries: number): Promise<number> {
    const { maxRecordAgeSeconds, maxRetries, onFailure } = this.mapping;
    const oldestMs = maxRecordAgeSeconds < 0 ? -Infinity : Date.now() - maxRecordAgeSeconds * 1000;
    const isExhausted = maxRetries >= 0 && retries > maxRetries;
    const firstYoung = all.findIndex(({ arrivalMs }) => arrivalMs >= oldestMs);
    const records = isExhausted || firstYoung < 0 ? all : all.slice(0, firstYoung);
    if (records.length === 0) return 0;
    const isTooOld = records[0]!.arrivalMs < oldestMs;
    if (onFailure !== undefined) {
      const now = new Date();
      const time = now.toISOString();
      await this.dependencies.s3.send(
        new PutObjectCommand({
          Bucket: onFailure.split(':').at(-1)!,
          Key: `aws/lambda/${this.id}/${shardId}/${time.slice(0, 10).replaceAll('-', '/')}/${time}-${records[0]!.sequenceNumber}`,
          Body: JSON.stringify({
            requestContext: {
              functionArn: this.mapping.functionName,
              condition: isTooOld ? 'RecordAgeExceeded' : 'RetryAttemptsExhausted',
              approximateInvokeCount: retries,
            },
            version: '1.0',
            timestamp: time,
            payload: JSON.stringify(kinesisEvent(records, shardId, this.mapping.streamArn)),
          }),
        }),
      );
    }
    this.save(shardId, records.at(-1)!.sequenceNumber);
    return records.length;
  }

  private async iteratorOf(shardId: string, shard: Shard): Promise<string | undefined> {
    const last = this.checkpoints[shardId];
    // A child shard is read from its beginning once its parent is finished.
    const isChild = shard.ParentShardId !== undefined && this.checkpoints[shard.ParentShardId] === FINISHED;
    const { position, timestampMs } = this.start;
    const from =
      last !== undefined
        ? { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER' as const, StartingSequenceNumber: last }
        : isChild
          ? { ShardIteratorType: 'TRIM_HORIZON' as const }
          : {
              ShardIteratorType: position,
              ...(timestampMs === undefined ? {} : { Timestamp: new Date(timestampMs) }),
            };
    const { ShardIterator } = await this.dependencies.kinesis.send(
      new GetShardIteratorCommand({ StreamName: this.streamName, ShardId: shardId, ...from }),
    );
    return ShardIterator;
  }

  private save(shardId: string, sequenceNumber: string): void {
    this.checkpoints[shardId] = sequenceNumber;
    if (this.isStopping) this.writeCheckpoints();
    else this.saving ??= setTimeout(() => this.writeCheckpoints(), SAVE_MS);
  }

  private writeCheckpoints(): void {
    clearTimeout(this.saving);
    this.saving = undefined;
    if (this.checkpointFile === undefined) return;
    writeFileSync(`${this.checkpointFile}.new`, JSON.stringify(this.checkpoints));
    renameSync(`${this.checkpointFile}.new`, this.checkpointFile);
  }
}

function readCheckpoints(file: string): Checkpoints {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Checkpoints;
  } catch {
    return {};
  }
}
