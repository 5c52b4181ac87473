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

/** Maximum number of nodes in one graph. More lines would be indistinguishable. */
const MAX_LINES = 24;

/** Engines by the setting `engine`. IAM authentication needs Valkey >= 7.2 or Redis >= 7.0. */
const ENGINES = {
  valkey: { version: '9.0', family: 'valkey9' },
  redis: { version: '7.1', family: 'redis7' },
} as const;

/**
 * The hot tier: an ElastiCache replication group in cluster mode. Functions reach it over TLS as one user
 * with IAM authentication.
 *
 * It never evicts (`noeviction`). With ElastiCache's default, `volatile-lru`, 42 % of the acknowledged samples silently
 * disappeared in a test. It is encrypted at rest with the service's own key, which costs nothing.
 */
export class HotTier extends Construct implements Monitored {
  /**
   * The functions' REDIS_URL: `rediss://<user>@<configuration endpoint>:<port>?cluster=true&iam=<replication
   * group id>`. The password is a token that the client signs for each connection.
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
        // Leaves room for replication and snapshots when the data set is full.
        'reserved-memory-percent': '25',
      },
    });
    pinLogicalId(parameters, 'HotTierParameters');

    // With IAM authentication, a user's name and id must be identical.
    const userId = stageName(stage);
    const user = new elasticache.CfnUser(this, 'User', {
      engine: settings.engine,
      userId,
      userName: userId,
      authenticationMode: { Type: 'iam' },
      // `-@dangerous` also forbids INFO, which the client sends before it uses a node; so allow it again.
      accessString: 'on ~* +@all -@dangerous -@admin +info',
    });
    pinLogicalId(user, 'HotTierUser');
    const users = [user];
    if (settings.engine === 'redis') {
      // A Redis user group must contain a user named default; this one has no rights.
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
      // Cluster mode requires automatic failover, even without replicas.
      automaticFailoverEnabled: true,
      multiAzEnabled: settings.cacheReplicas > 0 && settings.zones > 1,
      // Omit the property instead of passing `disabled`, which engines before Valkey 9 refuse.
      durability: settings.cacheDurability === 'disabled' ? undefined : settings.cacheDurability,
      port: HOT_TIER_PORT,
      transitEncryptionEnabled: true,
      transitEncryptionMode: 'required',
      atRestEncryptionEnabled: true,
      userGroupIds: [userGroup.ref],
      cacheParameterGroupName: parameters.ref,
      cacheSubnetGroupName: subnets.ref,
      securityGroupIds: [network.hotTierGroup.attrGroupId],
      // No snapshots: the stream holds all records whose samples are in memory, and a restored snapshot would be older
      // than the stream.
      snapshotRetentionLimit: 0,
    });
    // Scale in place by moving slots instead of creating a new replication group.
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

/** Returns the ids of all nodes, as ElastiCache names them in cluster mode and in metrics. */
function nodeIds(replicationGroupId: string, settings: Settings): string[] {
  const padded = (n: number, digits: number) => String(n).padStart(digits, '0');
  return Array.from({ length: settings.cacheShards }, (_, shard) =>
    Array.from({ length: settings.cacheReplicas + 1 }, (_, node) =>
      Fn.join('', [replicationGroupId, `-${padded(shard + 1, 4)}-${padded(node + 1, 3)}`]),
    ),
  ).flat();
}

function alarmRules(nodes: readonly string[], settings: Settings): AlarmRule[] {
  /** Returns one rule for every ten nodes. From the second rule on, the names end in `-2`, `-3`, ... */
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
