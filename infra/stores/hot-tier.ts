import { Arn, ArnFormat, Fn, Stack, Validations } from 'aws-cdk-lib';
import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import * as elasticache from 'aws-cdk-lib/aws-elasticache';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { stageName } from '../../shared/platform/names';
import type { Settings } from '../../shared/platform/settings';
import type { Stage } from '../config';
import { pinLogicalId } from '../logical-id';
import { awsMetric, maximumOf } from '../monitoring/metrics';
import type { AlarmRule, Graph, Monitored } from '../monitoring/monitored';
import { HOT_TIER_PORT, type Network } from './network';

export interface HotTierProps {
  readonly stage: Stage;
  readonly settings: Settings;
  readonly network: Network;
}

/** Nodes in one graph; with more, lines cannot be told apart. */
const MAX_LINES = 24;

/** Engines by the setting `engine`. IAM authentication needs Valkey >= 7.2 or Redis >= 7.0. */
const ENGINES = {
  valkey: { version: '9.0', family: 'valkey9' },
  redis: { version: '7.1', family: 'redis7' },
} as const;

/**
 * The memory tier: a replication group in cluster mode, which one IAM-authenticated user reaches over TLS.
 *
 * It never evicts (`noeviction`): with ElastiCache's default, `volatile-lru`, 42 % of acknowledged samples were gone
 * without an error. It is encrypted at rest with the service's own key, which costs nothing.
 */
export class HotTier extends Construct implements Monitored {
  /**
   * The functions' REDIS_URL: `rediss://<user>@<configuration endpoint>:<port>?cluster=true&iam=<replication group
   * id>`. The password is a token that the client signs for each connection.
   */
  readonly url: string;
  readonly alarms: readonly AlarmRule[];
  readonly graphs: readonly Graph[];
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
    const userId = stageName(stage);
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
    const arn = (resource: string, resourceName: string) =>
      Arn.format(
        { service: 'elasticache', resource, resourceName, arnFormat: ArnFormat.COLON_RESOURCE_NAME },
        Stack.of(this),
      );
    this.resources = [arn('replicationgroup', group.ref), arn('user', userId)];

    const nodes = nodeIds(group.ref, settings);
    this.alarms = alarmRules(nodes, settings);
    const drawn = nodes.slice(0, MAX_LINES);
    this.graphs = [
      {
        title: 'Memory used, %',
        left: drawn.map((node) => awsMetric.cacheNode('DatabaseMemoryUsagePercentage', node, Stats.MAXIMUM)),
      },
      {
        title: 'Cache CPU, %',
        left: drawn.map((node) => awsMetric.cacheNode('EngineCPUUtilization', node, Stats.AVERAGE)),
      },
    ];
  }

  /** Lets a function inside the VPC sign in. */
  grantConnect(grantee: IGrantable): Grant {
    return Grant.addToPrincipal({ grantee, actions: ['elasticache:Connect'], resourceArns: this.resources });
  }
}

/** Ids of all nodes, as ElastiCache names them in cluster mode and in their metrics. */
function nodeIds(replicationGroupId: string, settings: Settings): string[] {
  const padded = (n: number, digits: number) => String(n).padStart(digits, '0');
  return Array.from({ length: settings.cacheShards }, (_, shard) =>
    Array.from({ length: settings.cacheReplicas + 1 }, (_, node) =>
      Fn.join('', [replicationGroupId, `-${padded(shard + 1, 4)}-${padded(node + 1, 3)}`]),
    ),
  ).flat();
}

function alarmRules(nodes: readonly string[], settings: Settings): AlarmRule[] {
  /** One rule for each ten nodes; from the second on its name ends in `-2`, `-3`. */
  const perTenNodes = (
    metricName: Parameters<typeof awsMetric.cacheNode>[0],
    statistic: string,
    rule: Omit<AlarmRule, 'metric'>,
  ): AlarmRule[] =>
    maximumOf(nodes.map((node) => awsMetric.cacheNode(metricName, node, statistic))).map((metric, i) => ({
      ...rule,
      name: i === 0 ? rule.name : `${rule.name}-${i + 1}`,
      metric,
    }));
  return [
    ...perTenNodes('DatabaseMemoryUsagePercentage', Stats.MAXIMUM, {
      name: 'cache-memory',
      text: 'cache-memory',
      above: 85,
      within: [10, 10],
      isSilenceAlarming: true,
    }),
    ...perTenNodes('Evictions', Stats.SUM, {
      name: 'cache-evictions',
      text: 'cache-evictions',
      above: 0,
      isEssential: true,
    }),
    ...perTenNodes('EngineCPUUtilization', Stats.AVERAGE, {
      name: 'cache-cpu',
      text: 'cache-cpu',
      above: 80,
      within: [10, 10],
    }),
    ...(settings.cacheReplicas === 0
      ? []
      : perTenNodes('ReplicationLag', Stats.MAXIMUM, {
          name: 'cache-replication-lag',
          text: 'cache-replication-lag',
          above: 10,
          within: [5, 5],
        })),
  ];
}
