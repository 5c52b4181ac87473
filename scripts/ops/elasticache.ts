import {
  ElastiCacheClient,
  ModifyReplicationGroupShardConfigurationCommand,
  type NodeGroup,
  paginateDescribeReplicationGroups,
  type ReplicationGroup,
  TestFailoverCommand,
} from '@aws-sdk/client-elasticache';
import { OperatorError, stageOf } from './invoke';

/** Changes the number of shards by moving slots. */
export interface Resharding {
  look(): Promise<ShardState>;
  /** Starts a change of the number of shards. */
  begin(shards: number): Promise<void>;
}

/** State of the hot tier's shards. */
export interface ShardState {
  readonly shards: number;
  /** Whether a change is in progress. */
  readonly isChanging: boolean;
}

/** A stage's replication group: reshards it online, and tests its failover. */
export class StageCache implements Resharding {
  private readonly client = new ElastiCacheClient({});
  private readonly description: string;

  /** @param stack stack such as `heterotsdb-production`; region and credentials come from the environment */
  constructor(private readonly stack: string) {
    this.description = `HeteroTSDB ${stageOf(stack)} hot tier`;
  }

  async look(): Promise<ShardState> {
    const { NodeGroups = [], Status } = await this.group();
    return { shards: NodeGroups.length, isChanging: Status !== 'available' };
  }

  async begin(shards: number): Promise<void> {
    const { ReplicationGroupId, NodeGroups = [] } = await this.group();
    const ids = NodeGroups.map(({ NodeGroupId }) => NodeGroupId!).sort();
    await this.client
      .send(
        new ModifyReplicationGroupShardConfigurationCommand({
          ReplicationGroupId,
          NodeGroupCount: shards,
          ApplyImmediately: true,
          ...(shards < ids.length ? { NodeGroupsToRetain: ids.slice(0, shards) } : {}),
        }),
      )
      .catch((cause) => this.refuse('ModifyReplicationGroupShardConfiguration', cause));
  }

  /** Returns the number of replicas of the first shard. */
  async replicas(): Promise<number> {
    const { NodeGroups = [] } = await this.group();
    return (firstOf(NodeGroups)?.NodeGroupMembers?.length ?? 1) - 1;
  }

  /**
   * Promotes a replica of the first shard to primary, as if the primary had failed.
   *
   * @see https://docs.aws.amazon.com/AmazonElastiCache/latest/APIReference/API_TestFailover.html
   */
  async failOver(): Promise<void> {
    const { ReplicationGroupId, NodeGroups = [] } = await this.group();
    const NodeGroupId = firstOf(NodeGroups)?.NodeGroupId;
    await this.client
      .send(new TestFailoverCommand({ ReplicationGroupId, NodeGroupId }))
      .catch((cause) => this.refuse('TestFailover', cause));
  }

  close(): void {
    this.client.destroy();
  }

  private async group(): Promise<ReplicationGroup> {
    const found = (await this.groups()).filter(({ Description }) => Description === this.description);
    if (found.length !== 1)
      throw new OperatorError(
        `${found.length} replication groups have the description "${this.description}" in this account and region; expected exactly one`,
      );
    return found[0]!;
  }

  private async groups(): Promise<ReplicationGroup[]> {
    const found: ReplicationGroup[] = [];
    try {
      for await (const { ReplicationGroups = [] } of paginateDescribeReplicationGroups(
        { client: this.client },
        {},
      ))
        found.push(...ReplicationGroups);
    } catch (cause) {
      this.refuse('DescribeReplicationGroups', cause);
    }
    return found;
  }

  private refuse(action: string, cause: unknown): never {
    const { message, name } = cause as Error;
    throw new OperatorError(
      `no answer from ElastiCache (stack ${this.stack}): do your credentials allow elasticache:${action}? (${message || name})`,
      { cause },
    );
  }
}

function firstOf(shards: readonly NodeGroup[]): NodeGroup | undefined {
  return [...shards].sort((a, b) => (a.NodeGroupId! < b.NodeGroupId! ? -1 : 1))[0];
}
