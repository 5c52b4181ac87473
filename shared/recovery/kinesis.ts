import {
  type KinesisClient,
  ListShardsCommand,
  type ListShardsCommandOutput,
  PutRecordsCommand,
} from '@aws-sdk/client-kinesis';
import { encodeHeartbeat } from '../stream/heartbeat';
import type { Shard } from './replay-plan';

/** Maximum number of records in one PutRecords call, a limit of Kinesis. */
const MAX_CALL_RECORDS = 500;

/** Lists the stream's shards and puts heartbeats into them. */
export class KinesisReplayStream {
  constructor(
    private readonly client: KinesisClient,
    private readonly stream: string,
  ) {}

  async shards(): Promise<Shard[]> {
    const shards: Shard[] = [];
    let next: string | undefined;
    do {
      const page: ListShardsCommandOutput = await this.client.send(
        new ListShardsCommand(next === undefined ? { StreamName: this.stream } : { NextToken: next }),
      );
      for (const shard of page.Shards ?? [])
        shards.push({
          id: shard.ShardId!,
          parents: [shard.ParentShardId, shard.AdjacentParentShardId].filter((id) => id !== undefined),
          isOpen: shard.SequenceNumberRange?.EndingSequenceNumber === undefined,
          hashKey: shard.HashKeyRange!.StartingHashKey!,
        });
      next = page.NextToken;
    } while (next !== undefined);
    return shards;
  }

  /**
   * Puts a heartbeat, which is a record without samples, into each shard.
   *
   * @param replay id of the running replay, which ends at the heartbeat; '' if none is running
   */
  async beat(shards: readonly Shard[], replay: string): Promise<void> {
    const Data = encodeHeartbeat(replay);
    for (let i = 0; i < shards.length; i += MAX_CALL_RECORDS) {
      const Records = shards
        .slice(i, i + MAX_CALL_RECORDS)
        .map(({ hashKey }) => ({ PartitionKey: 'heartbeat', ExplicitHashKey: hashKey, Data }));
      // Do not retry a heartbeat that Kinesis refused: the next one follows within a minute.
      await this.client.send(new PutRecordsCommand({ StreamName: this.stream, Records }));
    }
  }
}
