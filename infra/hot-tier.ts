import { Arn, ArnFormat, Fn, Stack, Validations } from 'aws-cdk-lib';
import * as elasticache from 'aws-cdk-lib/aws-elasticache';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { Grant } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { Settings } from '../shared/platform/settings';
import type { Stage } from './config';
import { pinLogicalId } from './logical-id';
import { HOT_TIER_PORT, type Network } from './network';

export interface HotTierProps {
  readonly stage: Stage;
  readonly settings: Settings;
  readonly network: Network;
}

/** Engines by the settings' name. IAM authentication needs Valkey >= 7.2 or Redis >= 7.0. */
const ENGINES = {
  valkey: { version: '9.0', family: 'valkey9' },
  redis: { version: '7.1', family: 'redis7' },
} as const;

/**
 * The memory tier: a replication group in cluster mode, reached over TLS by one IAM-authenticated user.
 *
 * Memory is never freed by eviction (`noeviction`): with `volatile-lru`, the default, 42 % of acknowledged
 * points were gone without an error. Encrypted at rest with the service's own key, which costs nothing.
 */
export class HotTier extends Construct {
  /**
   * For the functions: `rediss://<user>@<configuration endpoint>:<port>?cluster=true&iam=<replication group
   * id>`. The password is a token that the client signs for each connection.
   */
  readonly url: string;
  /** Of each node, as its metrics bear it; ElastiCache names them so, in cluster mode. */
  readonly nodeIds: readonly string[];
  private readonly resources: string[];

  constructor(scope: Construct, id: string, props: HotTierProps) {
    super(scope, id);
    const { stage, settings, network } = props;
    const engine = ENGINES[settings.engine];

    const subnets = new elasticache.CfnSubnetGroup(this, 'Subnets', {
      description: 'HeteroTSDB hot tier',
      subnetIds: network.vpc.isolatedSubnets.map((subnet) => subnet.subnetId),
    });
    pinLogicalId(subnets, 'HotTierSubnets');

    const parameters = new elasticache.CfnParameterGroup(this, 'Parameters', {
      description: 'HeteroTSDB hot tier: cluster mode, no eviction',
      cacheParameterGroupFamily: engine.family,
      properties: {
        'cluster-enabled': 'yes',
        'maxmemory-policy': 'noeviction',
        // Room for replication and snapshots beside a full data set.
        'reserved-memory-percent': '25',
      },
    });
    pinLogicalId(parameters, 'HotTierParameters');

    // With IAM the name and the id of a user must be the same.
    const userId = `heterotsdb-${stage}`;
    const user = new elasticache.CfnUser(this, 'User', {
      engine: settings.engine,
      userId,
      userName: userId,
      authenticationMode: { Type: 'iam' },
      // INFO is in the dangerous category; the client asks it before it trusts a node.
      accessString: 'on ~* +@all -@dangerous -@admin +info',
    });
    pinLogicalId(user, 'HotTierUser');
    const users = [user];
    if (settings.engine === 'redis') {
      // A Redis user group must have a user named default: this one can do nothing.
      const locked = new elasticache.CfnUser(this, 'LockedDefaultUser', {
        engine: 'redis',
        userId: `${userId}-locked`,
        userName: 'default',
        noPasswordRequired: true,
        accessString: 'off -@all',
      });
      pinLogicalId(locked, 'HotTierLockedDefaultUser');
      users.push(locked);
    }
    const userGroup = new elasticache.CfnUserGroup(this, 'Users', {
      engine: settings.engine,
      userGroupId: userId,
      userIds: users.map((each) => each.ref),
    });
    pinLogicalId(userGroup, 'HotTierUsers');

    const group = new elasticache.CfnReplicationGroup(this, 'ReplicationGroup', {
      replicationGroupDescription: `HeteroTSDB ${stage} hot tier`,
      engine: settings.engine,
      engineVersion: engine.version,
      cacheNodeType: settings.cacheNodeType,
      numNodeGroups: settings.cacheShards,
      replicasPerNodeGroup: settings.cacheReplicas,
      // Cluster mode requires it, also where there is no replica to fail over to.
      automaticFailoverEnabled: true,
      multiAzEnabled: settings.cacheReplicas > 0 && settings.zones > 1,
      // Left out rather than `disabled`, which engines before Valkey 9 do not know.
      durability: settings.cacheDurability === 'disabled' ? undefined : settings.cacheDurability,
      port: HOT_TIER_PORT,
      transitEncryptionEnabled: true,
      transitEncryptionMode: 'required',
      atRestEncryptionEnabled: true,
      userGroupIds: [userGroup.ref],
      cacheParameterGroupName: parameters.ref,
      cacheSubnetGroupName: subnets.ref,
      securityGroupIds: [network.hotTierGroup.attrGroupId],
      // No snapshots: the stream holds more than memory does, and a restored snapshot would be older than the
      // stream.
      snapshotRetentionLimit: 0,
    });
    // Scaling happens in place, by moving slots, rather than by a new replication group.
    group.cfnOptions.updatePolicy = { useOnlineResharding: true };
    pinLogicalId(group, 'ReplicationGroup');

    if (settings.cacheReplicas === 0) {
      Validations.of(group).acknowledge({
        id: 'AwsSolutions-AEC4',
        reason: `Stage ${stage} runs one node a shard (cacheReplicas=0): what a lost node held is read again from the stream.`,
      });
    }
    Validations.of(group).acknowledge({
      id: 'AwsSolutions-AEC6',
      reason: 'No AUTH token: the user group admits one user, who signs in with short-lived IAM tokens.',
    });

    this.url = Fn.join('', [
      `rediss://${userId}@`,
      group.attrConfigurationEndPointAddress,
      `:${HOT_TIER_PORT}?cluster=true&iam=`,
      group.ref,
    ]);
    const fourDigits = (n: number) => String(n).padStart(4, '0');
    this.nodeIds = Array.from({ length: settings.cacheShards }, (_, shard) =>
      Array.from({ length: settings.cacheReplicas + 1 }, (_, node) =>
        Fn.join('', [group.ref, `-${fourDigits(shard + 1)}-${fourDigits(node + 1).slice(1)}`]),
      ),
    ).flat();
    const arn = (resource: string, resourceName: string) =>
      Arn.format(
        { service: 'elasticache', resource, resourceName, arnFormat: ArnFormat.COLON_RESOURCE_NAME },
        Stack.of(this),
      );
    this.resources = [arn('replicationgroup', group.ref), arn('user', userId)];
  }

  /** Lets a function inside the VPC sign in. */
  grantConnect(grantee: IGrantable): Grant {
    return Grant.addToPrincipal({ grantee, actions: ['elasticache:Connect'], resourceArns: this.resources });
  }
}
