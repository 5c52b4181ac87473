import { Stack } from 'aws-cdk-lib';
import { version } from '../../package.json';
import { synthesize } from './synthesize';

const { stateful: local } = synthesize({ stage: 'local' });
const { stateful: dev, stateless } = synthesize({ stage: 'dev' });
const { stateful: production } = synthesize({ stage: 'production' });
const group = (stack: typeof dev) => stack.only('AWS::ElastiCache::ReplicationGroup');

describe('logical ids', () => {
  // If its id changes, CloudFormation replaces the resource and leaves the data in the old one.
  test.each([
    ['Stream', 'AWS::Kinesis::Stream'],
    ['WarmTable', 'AWS::DynamoDB::Table'],
    ['MetaTable', 'AWS::DynamoDB::Table'],
    ['Bucket', 'AWS::S3::Bucket'],
    ['BucketPolicy', 'AWS::S3::BucketPolicy'],
    ['AccessLogs', 'AWS::S3::Bucket'],
    ['AccessLogsPolicy', 'AWS::S3::BucketPolicy'],
    ['ReplicationGroup', 'AWS::ElastiCache::ReplicationGroup'],
    ['HotTierSubnets', 'AWS::ElastiCache::SubnetGroup'],
    ['HotTierParameters', 'AWS::ElastiCache::ParameterGroup'],
    ['HotTierUser', 'AWS::ElastiCache::User'],
    ['HotTierUsers', 'AWS::ElastiCache::UserGroup'],
    ['Vpc', 'AWS::EC2::VPC'],
    ['Subnet1', 'AWS::EC2::Subnet'],
    ['Subnet2', 'AWS::EC2::Subnet'],
    ['FunctionGroup', 'AWS::EC2::SecurityGroup'],
    ['HotTierGroup', 'AWS::EC2::SecurityGroup'],
  ])('%s is a %s in every stage', (id, type) => {
    for (const stack of [local, dev, production]) expect(stack.template.Resources[id]?.Type).toBe(type);
  });

  test('are the same in every stage', () => {
    const ids = Object.keys(production.template.Resources);
    expect(Object.keys(local.template.Resources)).toEqual(ids);
    expect(Object.keys(dev.template.Resources)).toEqual(expect.arrayContaining(ids));
  });
});

test('both stacks name the release in their outputs', () => {
  for (const { template } of [dev, stateless]) expect(template.Outputs?.Release?.Value).toBe(version);
});

describe('a deleted stack', () => {
  test('leaves everything in production', () => {
    for (const resource of Object.values(production.template.Resources)) {
      expect(resource).toMatchObject({
        DeletionPolicy: 'RetainExceptOnCreate',
        UpdateReplacePolicy: 'Retain',
      });
    }
  });

  test('must first be unprotected in production, not in dev', () => {
    const protection = (stage: string) => {
      const { app } = synthesize({ stage });
      return app.node.children
        .filter(Stack.isStack)
        .map(({ terminationProtection }) => terminationProtection);
    };
    expect(protection('production')).toEqual([true, true]);
    expect(protection('dev')).toEqual([false, false]);
  });

  test('leaves nothing in dev, whose buckets are emptied first', () => {
    const emptied = dev.properties('Custom::S3AutoDeleteObjects').map(({ BucketName }) => BucketName.Ref);
    expect(emptied.sort()).toEqual(['AccessLogs', 'Bucket']);
    expect(production.all('Custom::S3AutoDeleteObjects')).toEqual({});
    for (const resource of Object.values(dev.template.Resources)) {
      expect(resource).toMatchObject({ DeletionPolicy: 'Delete', UpdateReplacePolicy: 'Delete' });
    }
  });
});

describe('hot tier', () => {
  test('never evicts, keeps a quarter of the memory free, and is in cluster mode', () => {
    expect(production.only('AWS::ElastiCache::ParameterGroup')).toMatchObject({
      CacheParameterGroupFamily: 'valkey9',
      Properties: {
        'maxmemory-policy': 'noeviction',
        'reserved-memory-percent': '25',
        'cluster-enabled': 'yes',
      },
    });
    expect(group(production).CacheParameterGroupName).toEqual({ Ref: 'HotTierParameters' });
  });

  test('is encrypted on the wire and at rest, off the default port', () => {
    expect(group(production)).toMatchObject({
      TransitEncryptionEnabled: true,
      TransitEncryptionMode: 'required',
      AtRestEncryptionEnabled: true,
      Port: 6380,
    });
  });

  test('admits one user, who signs in by IAM and may do nothing dangerous', () => {
    expect(group(production).UserGroupIds).toEqual([{ Ref: 'HotTierUsers' }]);
    expect(production.only('AWS::ElastiCache::UserGroup').UserIds).toEqual([{ Ref: 'HotTierUser' }]);
    const user = production.only('AWS::ElastiCache::User');
    expect(user).toMatchObject({ AuthenticationMode: { Type: 'iam' } });
    expect(user.UserName).toBe(user.UserId);
    expect(user.AccessString).toContain('-@dangerous');
  });

  test('is spread over zones when it has a replica', () => {
    expect(group(production)).toMatchObject({
      MultiAZEnabled: true,
      ReplicasPerNodeGroup: 1,
      NumNodeGroups: 1,
    });
    expect(group(dev)).toMatchObject({ MultiAZEnabled: false, ReplicasPerNodeGroup: 0, NumNodeGroups: 1 });
  });

  test('writes durably only when that is chosen', () => {
    expect(group(production).Durability).toBeUndefined();
    // Small node types do not support it.
    const { stateful } = synthesize({
      stage: 'production',
      cacheDurability: 'sync',
      cacheNodeType: 'cache.m7g.large',
    });
    expect(group(stateful)).toMatchObject({ Durability: 'sync', Engine: 'valkey', EngineVersion: '9.0' });
  });

  test('has the chosen engine, node type and shards', () => {
    const { stateful } = synthesize({ engine: 'redis', cacheNodeType: 'cache.r7g.xlarge', cacheShards: '3' });
    expect(group(stateful)).toMatchObject({
      Engine: 'redis',
      CacheNodeType: 'cache.r7g.xlarge',
      NumNodeGroups: 3,
    });
    expect(stateful.only('AWS::ElastiCache::ParameterGroup').CacheParameterGroupFamily).toBe('redis7');
  });

  test('gives the default user of Redis no rights', () => {
    const { stateful } = synthesize({ engine: 'redis' });
    const users = stateful.properties('AWS::ElastiCache::User');
    expect(users.find((user) => user.UserName === 'default')?.AccessString).toBe('off -@all');
    expect(stateful.only('AWS::ElastiCache::UserGroup').UserIds).toHaveLength(2);
  });
});

describe('stream', () => {
  test('is encrypted, and remembers a week in production', () => {
    expect(production.only('AWS::Kinesis::Stream')).toMatchObject({
      StreamEncryption: { EncryptionType: 'KMS', KeyId: 'alias/aws/kinesis' },
      RetentionPeriodHours: 168,
      ShardCount: 1,
      StreamModeDetails: { StreamMode: 'PROVISIONED' },
    });
  });

  test('on demand, scales itself: its template names no shards', () => {
    const { stateful } = synthesize({ streamMode: 'on-demand' });
    const stream = stateful.only('AWS::Kinesis::Stream');
    expect(stream).toMatchObject({ StreamModeDetails: { StreamMode: 'ON_DEMAND' } });
    expect(stream).not.toHaveProperty('ShardCount');
  });
});

describe('tables', () => {
  test.each(['WarmTable', 'MetaTable'])('%s is on demand, can be restored, and drops expired items', (id) => {
    expect(production.template.Resources[id]!.Properties).toMatchObject({
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
    });
  });

  test('refuse to be deleted in production, not in dev', () => {
    const isProtected = (stack: typeof dev) =>
      stack.properties('AWS::DynamoDB::Table').map((table) => table.DeletionProtectionEnabled);
    expect(isProtected(production)).toEqual([true, true]);
    expect(isProtected(dev)).toEqual([false, false]);
  });
});

describe('bucket', () => {
  const bucket = production.template.Resources.Bucket!.Properties;

  test('is closed to the public and encrypted', () => {
    for (const each of production.properties('AWS::S3::Bucket')) {
      expect(each.PublicAccessBlockConfiguration).toEqual({
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      });
      expect(each.BucketEncryption.ServerSideEncryptionConfiguration).toHaveLength(1);
    }
  });

  test('takes requests over TLS only', () => {
    for (const { PolicyDocument } of production.properties('AWS::S3::BucketPolicy')) {
      expect(PolicyDocument.Statement).toContainEqual(
        expect.objectContaining({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
      );
    }
  });

  test('expires only quarantined records and replaced versions', () => {
    const expiring = bucket.LifecycleConfiguration.Rules.filter(
      (rule: { ExpirationInDays?: number }) => rule.ExpirationInDays !== undefined,
    );
    expect(expiring).toEqual([expect.objectContaining({ Prefix: 'quarantine/' })]);
    expect(bucket.VersioningConfiguration).toEqual({ Status: 'Enabled' });
  });

  test('logs its reads', () => {
    expect(bucket.LoggingConfiguration.DestinationBucketName).toEqual({ Ref: 'AccessLogs' });
  });
});

describe('network', () => {
  test('has two zones, and no way out or in', () => {
    const subnets = production.properties('AWS::EC2::Subnet');
    expect(new Set(subnets.map((subnet) => JSON.stringify(subnet.AvailabilityZone))).size).toBe(2);
    for (const type of ['NatGateway', 'InternetGateway', 'EIP', 'Route', 'EgressOnlyInternetGateway']) {
      expect(production.all(`AWS::EC2::${type}`)).toEqual({});
    }
  });

  test('gets a third zone without a change of the first two', () => {
    const { stateful } = synthesize({ stage: 'production', zones: '3' });
    const subnets = stateful.properties('AWS::EC2::Subnet');
    expect(subnets.slice(0, 2)).toEqual(production.properties('AWS::EC2::Subnet'));
    expect(subnets[2]!.AvailabilityZone).toEqual({ 'Fn::Select': [2, { 'Fn::GetAZs': '' }] });
    expect(stateful.template.Resources.Subnet3?.Type).toBe('AWS::EC2::Subnet');
  });

  test('has gateway endpoints for DynamoDB and S3, which cost nothing, and no other', () => {
    const endpoints = production.properties('AWS::EC2::VPCEndpoint');
    expect(endpoints.map((endpoint) => endpoint.VpcEndpointType)).toEqual(['Gateway', 'Gateway']);
    expect(JSON.stringify(endpoints)).toMatch(/\.dynamodb"/);
    expect(JSON.stringify(endpoints)).toMatch(/\.s3"/);
  });

  test('lets only functions reach the hot tier', () => {
    expect(production.template.Resources.HotTierGroup!.Properties.SecurityGroupIngress).toEqual([
      {
        Description: 'Functions',
        IpProtocol: 'tcp',
        FromPort: 6380,
        ToPort: 6380,
        SourceSecurityGroupId: { 'Fn::GetAtt': ['FunctionGroup', 'GroupId'] },
      },
    ]);
    expect(production.template.Resources.FunctionGroup!.Properties.SecurityGroupIngress).toBeUndefined();
  });
});
