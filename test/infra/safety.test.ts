import { type Deployment, SAFETY, violations } from './safety';
import { type Resource, Synthesized, synthesize } from './synthesize';

const production = synthesize({ stage: 'production' });
const STACKS = ['stateful', 'stateless'] as const;

/** Templates of production that a test may change. */
function copy(): Record<(typeof STACKS)[number], { Resources: Record<string, Resource & Change> }> {
  return structuredClone({
    stateful: production.stateful.template,
    stateless: production.stateless.template,
  }) as never;
}

type Templates = ReturnType<typeof copy>;
interface Change {
  DeletionPolicy?: string;
}

/** Properties of the resources of a type. If a string is given, only of those that contain it. */
function of(templates: Templates, type: string, having = ''): Resource['Properties'][] {
  const found = STACKS.flatMap((stack) => Object.entries(templates[stack].Resources))
    .filter(([, resource]) => resource.Type === type && JSON.stringify(resource).includes(having))
    .map(([, { Properties }]) => Properties);
  if (found.length === 0) throw new Error(`no ${type} with ${having}`);
  return found;
}

function removed(templates: Templates, type: string, having: string): void {
  for (const stack of STACKS)
    for (const [id, resource] of Object.entries(templates[stack].Resources))
      if (resource.Type === type && JSON.stringify(resource).includes(having))
        delete templates[stack].Resources[id];
}

function setting(templates: Templates, name: string, value: unknown): void {
  for (const { Environment } of of(templates, 'AWS::Lambda::Function'))
    Environment.Variables.SETTINGS = JSON.stringify({
      ...JSON.parse(Environment.Variables.SETTINGS),
      [name]: value,
    });
}

const GROUP = 'AWS::ElastiCache::ReplicationGroup';
const FUNCTION = 'AWS::Lambda::Function';
const MAPPING = 'AWS::Lambda::EventSourceMapping';

/** Mistakes that somebody might make in a hurry, each with the rule that rejects it. */
const DANGERS: [change: string, rule: keyof typeof SAFETY, make: (templates: Templates) => void][] = [
  ['TLS off', 'the hot tier speaks TLS only', (t) => (of(t, GROUP)[0]!.TransitEncryptionEnabled = false)],
  [
    'TLS optional',
    'the hot tier speaks TLS only',
    (t) => (of(t, GROUP)[0]!.TransitEncryptionMode = 'preferred'),
  ],
  [
    'eviction policy',
    'memory is never freed by eviction',
    (t) => (of(t, 'AWS::ElastiCache::ParameterGroup')[0]!.Properties['maxmemory-policy'] = 'volatile-lru'),
  ],
  [
    'a password instead of IAM',
    'the hot tier admits only IAM users without dangerous commands',
    (t) => (of(t, 'AWS::ElastiCache::User')[0]!.AuthenticationMode = { Type: 'password', Passwords: ['x'] }),
  ],
  ['no replica', 'a lost node loses nothing', (t) => (of(t, GROUP)[0]!.ReplicasPerNodeGroup = 0)],
  [
    'one zone',
    'a lost zone loses nothing',
    (t) => {
      for (const subnet of of(t, 'AWS::EC2::Subnet')) subnet.AvailabilityZone = 'us-east-1a';
    },
  ],
  [
    'encryption off: stream',
    'every store is encrypted',
    (t) => delete of(t, 'AWS::Kinesis::Stream')[0]!.StreamEncryption,
  ],
  [
    'encryption off: bucket',
    'every store is encrypted',
    (t) => delete of(t, 'AWS::S3::Bucket')[0]!.BucketEncryption,
  ],
  [
    'encryption off: hot tier',
    'every store is encrypted',
    (t) => (of(t, GROUP)[0]!.AtRestEncryptionEnabled = false),
  ],
  [
    'deletion policy',
    'stores outlive their stack',
    (t) => (t.stateful.Resources.WarmTable!.DeletionPolicy = 'Delete'),
  ],
  [
    'recovery to a point in time off',
    'tables can be restored, and are not deleted by mistake',
    (t) => delete of(t, 'AWS::DynamoDB::Table')[1]!.PointInTimeRecoverySpecification,
  ],
  [
    'versions off',
    'replaced objects can be restored',
    (t) => (t.stateful.Resources.Bucket!.Properties.VersioningConfiguration.Status = 'Suspended'),
  ],
  [
    'an archive that expires',
    'nothing but quarantine expires',
    (t) =>
      t.stateful.Resources.Bucket!.Properties.LifecycleConfiguration.Rules.push({
        Prefix: 'archive/',
        ExpirationInDays: 30,
        Status: 'Enabled',
      }),
  ],
  [
    'public bucket',
    'no bucket is public',
    (t) => (of(t, 'AWS::S3::Bucket')[1]!.PublicAccessBlockConfiguration.BlockPublicPolicy = false),
  ],
  [
    'everyone in a bucket policy',
    'no bucket is public',
    (t) =>
      of(t, 'AWS::S3::BucketPolicy')[0]!.PolicyDocument.Statement.push({
        Effect: 'Allow',
        Principal: '*',
        Action: 's3:GetObject',
        Resource: '*',
      }),
  ],
  [
    'plain HTTP to a bucket',
    'buckets take TLS only',
    (t) => of(t, 'AWS::S3::BucketPolicy')[0]!.PolicyDocument.Statement.shift(),
  ],
  [
    'retention shortened below residency',
    'the stream remembers longer than memory holds',
    (t) => (of(t, 'AWS::Kinesis::Stream')[0]!.RetentionPeriodHours = 12),
  ],
  [
    'retention shortened in the template alone',
    'the stream remembers what functions were told',
    (t) => (of(t, 'AWS::Kinesis::Stream')[0]!.RetentionPeriodHours = 24),
  ],
  [
    'record age above retention',
    'a record is tried until just before the stream forgets it, without limit of attempts',
    (t) => (of(t, MAPPING)[0]!.MaximumRecordAgeInSeconds = 604_800),
  ],
  [
    'record age that leaves no room for memory',
    'a record is tried until just before the stream forgets it, without limit of attempts',
    (t) => (of(t, MAPPING)[0]!.MaximumRecordAgeInSeconds = 167 * 3600),
  ],
  [
    'attempts bounded',
    'a record is tried until just before the stream forgets it, without limit of attempts',
    (t) => (of(t, MAPPING)[0]!.MaximumRetryAttempts = 10),
  ],
  [
    'on-failure removed',
    'given-up batches go to the bucket, bytes included',
    (t) => delete of(t, MAPPING)[0]!.DestinationConfig,
  ],
  [
    'on-failure to a queue, which keeps no bytes',
    'given-up batches go to the bucket, bytes included',
    (t) => (of(t, MAPPING)[0]!.DestinationConfig.OnFailure.Destination = 'arn:aws:sqs:us-east-1:1:dead'),
  ],
  [
    'partial failures not reported',
    'a failed record fails alone, and none is missed',
    (t) => delete of(t, MAPPING)[0]!.FunctionResponseTypes,
  ],
  [
    'reading from the tip',
    'a failed record fails alone, and none is missed',
    (t) => (of(t, MAPPING)[0]!.StartingPosition = 'LATEST'),
  ],
  [
    'function timeout cut',
    "no timeout is shorter than the stores' clients try",
    (t) => (of(t, FUNCTION, '-ingester"')[0]!.Timeout = 20),
  ],
  [
    'slice of flushing cut',
    'flusher and archiver have time to end a slice',
    (t) => (of(t, FUNCTION, '-flusher"')[0]!.Timeout = 60),
  ],
  ['TTL shortened', 'warm items live until they are archived', (t) => setting(t, 'warmTtl', 8 * 86_400_000)],
  [
    'post inside the VPC',
    'functions without need of the VPC are outside, where they reach Kinesis',
    (t) => (of(t, FUNCTION, '-post"')[0]!.VpcConfig = of(t, FUNCTION, '-query"')[0]!.VpcConfig),
  ],
  [
    'a NAT gateway',
    'the VPC has no way out',
    (t) => (t.stateful.Resources.Nat = { Type: 'AWS::EC2::NatGateway', Properties: {} }),
  ],
  [
    'the hot tier open to a network',
    'only functions reach the hot tier',
    (t) =>
      of(t, 'AWS::EC2::SecurityGroup', 'HeteroTSDB hot tier')[0]!.SecurityGroupIngress.push({
        CidrIp: '10.0.0.0/8',
        IpProtocol: 'tcp',
        FromPort: 6380,
        ToPort: 6380,
      }),
  ],
  [
    'wildcard action',
    'no right is a wildcard',
    (t) => (of(t, 'AWS::IAM::Policy')[0]!.PolicyDocument.Statement[0].Action = 'dynamodb:*'),
  ],
  [
    'grant widened to every store',
    'rights to data name their store',
    (t) => {
      for (const { PolicyDocument } of of(t, 'AWS::IAM::Policy', 'dynamodb:'))
        for (const statement of PolicyDocument.Statement)
          if (JSON.stringify(statement.Action).includes('dynamodb:')) statement.Resource = '*';
    },
  ],
  [
    'a right to delete tables',
    'no function may delete buckets, tables or streams',
    (t) =>
      of(t, 'AWS::IAM::Policy')[0]!.PolicyDocument.Statement.push({
        Effect: 'Allow',
        Action: 'dynamodb:DeleteTable',
        Resource: 'arn:aws:dynamodb:us-east-1:1:table/x',
      }),
  ],
  [
    'one role for two functions',
    'every function has a role of its own',
    (t) => (of(t, FUNCTION, '-post"')[0]!.Role = of(t, FUNCTION, '-archiver"')[0]!.Role),
  ],
  [
    'alarm removed',
    'each loss has an alarm that notifies the topic',
    (t) => removed(t, 'AWS::CloudWatch::Alarm', '"heterotsdb-production-unflushed-age"'),
  ],
  [
    'alarm that calls nobody',
    'each loss has an alarm that notifies the topic',
    (t) => (of(t, 'AWS::CloudWatch::Alarm', '-cache-evictions"')[0]!.AlarmActions = []),
  ],
  [
    'silence taken for health',
    'silence alarms',
    (t) => (of(t, 'AWS::CloudWatch::Alarm', '-flush-lag"')[0]!.TreatMissingData = 'notBreaching'),
  ],
  [
    'alarms kept from their topic',
    'alarms may write to their topic',
    (t) => removed(t, 'AWS::SNS::TopicPolicy', ''),
  ],
  [
    'throttling off',
    'the API throttles',
    (t) => delete of(t, 'AWS::ApiGatewayV2::Stage')[0]!.DefaultRouteSettings,
  ],
  [
    'keys in the access log',
    'no header is logged',
    (t) =>
      (of(t, 'AWS::ApiGatewayV2::Stage')[0]!.AccessLogSettings.Format += '$context.request.header.x-api-key'),
  ],
  [
    'a schedule switched off',
    'schedules are enabled',
    (t) => {
      for (const rule of of(t, 'AWS::Events::Rule', 'Recovery')) rule.State = 'DISABLED';
    },
  ],
];

test('production keeps every rule', () => {
  expect(violations(production)).toEqual([]);
});

test.each(DANGERS)('%s breaks: %s', (_, rule, make) => {
  const templates = copy();
  make(templates);
  const deployment: Deployment = {
    stateful: new Synthesized(templates.stateful),
    stateless: new Synthesized(templates.stateless),
  };
  const broken = new Set(violations(deployment).map((violation) => violation.slice(0, rule.length)));
  expect(broken).toContain(rule);
});

test('every rule is broken by some mistake', () => {
  expect([...new Set(DANGERS.map(([, rule]) => rule))].sort()).toEqual(Object.keys(SAFETY).sort());
});
