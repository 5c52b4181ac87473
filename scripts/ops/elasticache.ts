import {
  ElastiCacheClient,
  ModifyReplicationGroupShardConfigurationCommand,
  paginateDescribeReplicationGroups,
  type ReplicationGroup,
} from '@aws-sdk/client-elasticache';
import { OperatorError, stageOf } from './invoke';
import type { Resharding, ShardState } from './scale';

/** The replication group of a stage, as ElastiCache reshards it online. */
export class ElastiCacheResharding implements Resharding {
  private readonly client = new ElastiCacheClient({});
  private readonly description: string;

  /** @param stack such as `heterotsdb-production`; region and credentials are those of the environment */
  constructor(stack: string) {
    this.description = `HeteroTSDB ${stageOf(stack)} hot tier`;
  }

  async look(): Promise<ShardState> {
    const { NodeGroups = [], Status } = await this.group();
    return { shards: NodeGroups.length, isChanging: Status !== 'available' };
  }

  async begin(shards: number): Promise<void> {
    const { ReplicationGroupId, NodeGroups = [] } = await this.group();
    const ids = NodeGroups.map(({ NodeGroupId }) => NodeGroupId!).sort();
    await this.client.send(
      new ModifyReplicationGroupShardConfigurationCommand({
        ReplicationGroupId,
        NodeGroupCount: shards,
        ApplyImmediately: true,
        ...(shards < ids.length ? { NodeGroupsToRetain: ids.slice(0, shards) } : {}),
      }),
    );
  }

  close(): void {
    this.client.destroy();
  }

  private async group(): Promise<ReplicationGroup> {
    const found: ReplicationGroup[] = [];
    for await (const { ReplicationGroups = [] } of paginateDescribeReplicationGroups(
      { client: this.client },
      {},
    ))
      found.push(...ReplicationGroups.filter(({ Description }) => Description === this.description));
    if (found.length !== 1)
      throw new OperatorError(
        `${found.length} replication groups are described as "${this.description}" in this account and region; expected one`,
      );
    return found[0]!;
  }
}
