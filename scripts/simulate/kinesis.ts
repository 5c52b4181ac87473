import { createHash } from 'node:crypto';
import type { ShardRecord } from '../local/batches';
import { AwsError } from './aws-error';
import type { Meter } from './meter';

/** Decides which of Kinesis' freedoms (faults/freedoms.json) the model uses in a call. */
export interface StreamFreedoms {
  /** Whether Kinesis refuses a record of a call. */
  isRefused(): boolean;
}

interface Shard {
  readonly id: string;
  /**
   * The lowest sequence number of the shard. Which of two shards has the lower range says nothing about which records
   * are older.
   */
  readonly base: bigint;
  readonly records: ShardRecord[];
  /** Number of records that the stream has dropped. */
  forgotten: number;
}

const HASH_KEYS = 2n ** 128n;
/** Sequence numbers have 56 digits, and no two shards share a range. */
const [FIRST_NUMBER, RANGE] = [10n ** 55n, 10n ** 40n];

type Input = Readonly<Record<string, unknown>>;

/** A model of one Kinesis stream with a fixed number of shards. Its input and output are Kinesis' JSON. */
export class KinesisModel {
  readonly shards: readonly Shard[];

  /**
   * @param order for each shard, the rank of its range of sequence numbers; the ranks may be in any order
   * @param onRecord called with each shard that a call has put records into
   */
  constructor(
    private readonly now: () => number,
    order: readonly number[],
    private readonly onRecord: (shardId: string) => void = () => {},
    private readonly freedoms: StreamFreedoms = { isRefused: () => false },
    private readonly meter?: Meter,
  ) {
    this.shards = order.map((rank, i) => ({
      id: `shardId-${String(i).padStart(12, '0')}`,
      base: FIRST_NUMBER + BigInt(rank) * RANGE,
      records: [],
      forgotten: 0,
    }));
  }

  call(operation: string, input: Input): object {
    switch (operation) {
      case 'PutRecords':
        return this.put(input);
      case 'ListShards':
        return { Shards: this.shards.map((_, i) => this.describe(i)) };
      case 'GetShardIterator':
        return { ShardIterator: this.iterator(input) };
      case 'GetRecords':
        return this.get(input);
      default:
        throw new AwsError(400, 'UnknownOperationException', operation);
    }
  }

  /** Returns the records of a shard, starting at a position. */
  from(shardId: string, position: number): readonly ShardRecord[] {
    const { records, forgotten } = this.shardOf(shardId);
    return records.slice(Math.max(0, position - forgotten));
  }

  /** Returns the position of the first record that arrived at a time or later. */
  positionAt(shardId: string, timeMs: number): number {
    const { records, forgotten } = this.shardOf(shardId);
    const i = records.findIndex(({ arrivalMs }) => arrivalMs >= timeMs);
    return forgotten + (i < 0 ? records.length : i);
  }

  /** Drops records that arrived before a time. */
  forget(beforeMs: number): void {
    for (const shard of this.shards) {
      const young = shard.records.findIndex(({ arrivalMs }) => arrivalMs >= beforeMs);
      const old = young < 0 ? shard.records.length : young;
      shard.records.splice(0, old);
      shard.forgotten += old;
    }
  }

  private put(input: Input): object {
    const touched = new Set<string>();
    let FailedRecordCount = 0;
    const Records = (input.Records as Record<string, string>[]).map(
      ({ Data, PartitionKey, ExplicitHashKey }) => {
        if (this.freedoms.isRefused()) {
          FailedRecordCount++;
          return { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'Rate exceeded' };
        }
        const hashed = ExplicitHashKey ?? `0x${createHash('md5').update(PartitionKey!).digest('hex')}`;
        const shard = this.shards[Number((BigInt(hashed) * BigInt(this.shards.length)) / HASH_KEYS)]!;
        const SequenceNumber = String(shard.base + BigInt(shard.forgotten + shard.records.length) * 3n);
        const data = Buffer.from(Data!, 'base64');
        this.meter?.record(data.length + PartitionKey!.length);
        shard.records.push({
          sequenceNumber: SequenceNumber,
          partitionKey: PartitionKey!,
          arrivalMs: this.now(),
          data,
        });
        touched.add(shard.id);
        return { SequenceNumber, ShardId: shard.id };
      },
    );
    for (const id of touched) this.onRecord(id);
    return { FailedRecordCount, Records };
  }

  private describe(i: number): object {
    const count = BigInt(this.shards.length);
    const startOf = (n: number) => (HASH_KEYS * BigInt(n) + count - 1n) / count;
    return {
      ShardId: this.shards[i]!.id,
      HashKeyRange: { StartingHashKey: String(startOf(i)), EndingHashKey: String(startOf(i + 1) - 1n) },
      SequenceNumberRange: { StartingSequenceNumber: String(this.shards[i]!.base) },
    };
  }

  private iterator({ ShardId, ShardIteratorType, StartingSequenceNumber, Timestamp }: Input): string {
    const shard = this.shardOf(String(ShardId));
    const end = shard.forgotten + shard.records.length;
    const number = StartingSequenceNumber as string | undefined;
    const position = () => {
      switch (ShardIteratorType) {
        case 'TRIM_HORIZON':
          return shard.forgotten;
        case 'LATEST':
          return end;
        case 'AT_TIMESTAMP':
          return this.positionAt(shard.id, Number(Timestamp) * 1000);
        case 'AT_SEQUENCE_NUMBER':
          return Number((BigInt(number!) - shard.base + 2n) / 3n);
        default:
          return Number((BigInt(number!) - shard.base) / 3n) + 1;
      }
    };
    return Buffer.from(`${shard.id} ${position()}`).toString('base64');
  }

  private get({ ShardIterator, Limit }: Input): object {
    const [id, position] = Buffer.from(String(ShardIterator), 'base64').toString().split(' ') as [
      string,
      string,
    ];
    const records = this.from(id, Number(position)).slice(0, Number(Limit ?? 10_000));
    const { forgotten, records: kept } = this.shardOf(id);
    const next = Math.max(Number(position), forgotten) + records.length;
    const [first] = this.from(id, next);
    return {
      Records: records.map(({ sequenceNumber, partitionKey, arrivalMs, data }) => ({
        SequenceNumber: sequenceNumber,
        PartitionKey: partitionKey,
        ApproximateArrivalTimestamp: arrivalMs / 1000,
        Data: Buffer.from(data).toString('base64'),
      })),
      NextShardIterator: Buffer.from(`${id} ${next}`).toString('base64'),
      MillisBehindLatest: next < forgotten + kept.length ? this.now() - first!.arrivalMs : 0,
    };
  }

  private shardOf(id: string): Shard {
    const shard = this.shards.find((each) => each.id === id);
    if (shard === undefined) throw new AwsError(400, 'ResourceNotFoundException', `no shard ${id}`);
    return shard;
  }
}
