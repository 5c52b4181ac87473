import { BUCKET_PREFIX, FUNCTIONS, functionName } from '../../shared/platform/names';
import type { RuntimeSettings } from '../../shared/platform/settings';
import type { Resource, Synthesized } from './synthesize';

/** Both stacks of a production stage. */
export interface Deployment {
  readonly stateful: Synthesized;
  readonly stateless: Synthesized;
}

type Rule = (deployment: Deployment) => (string | false | undefined)[];

const HOUR_S = 3600;
/** Time that a person needs to repair a store. In the meantime, data waits in memory or in the stream. */
const SLACK_S = 12 * HOUR_S;

const STORES = [
  'AWS::Kinesis::Stream',
  'AWS::DynamoDB::Table',
  'AWS::S3::Bucket',
  'AWS::ElastiCache::ReplicationGroup',
];

/** Functions that call AWS outside the VPC, or need nothing in it. */
const OUTSIDE = [
  'post',
  'archiver',
  'registry',
  'deleter',
  'importer',
  'recovery',
  'evaluator',
  'prober',
  'canary',
] as const;

/** Alarms without which customers would notice a loss before the operator does. */
const ALARMS = [
  'api-errors',
  'stream-throttled',
  'stream-lag',
  'gave-up',
  'quarantine',
  'cache-memory',
  'cache-evictions',
  'flush-lag',
  'unflushed-age',
  'archive-lag',
  'loss-open',
  'rules-late',
  'canary-stale',
];

const functionsOf = ({ stateless }: Deployment) =>
  Object.values(stateless.all('AWS::Lambda::Function')).map(({ Properties }) => Properties);

const statementsOf = ({ stateful, stateless }: Deployment): Resource['Properties'][] =>
  [stateful, stateless].flatMap((stack) => [
    ...stack.properties('AWS::IAM::Policy').flatMap(({ PolicyDocument }) => PolicyDocument.Statement),
    ...stack
      .properties('AWS::IAM::Role')
      .flatMap(({ Policies = [] }) => Policies)
      .flatMap(({ PolicyDocument }: Resource['Properties']) => PolicyDocument.Statement),
  ]);

const settingsOf = (deployment: Deployment) =>
  JSON.parse(functionsOf(deployment)[0]!.Environment.Variables.SETTINGS) as RuntimeSettings;

/** Rules that a production deployment must keep. */
export const SAFETY: Readonly<Record<string, Rule>> = {
  'the hot tier speaks TLS only': ({ stateful }) =>
    stateful
      .properties('AWS::ElastiCache::ReplicationGroup')
      .map(
        (group) =>
          (group.TransitEncryptionEnabled !== true || group.TransitEncryptionMode !== 'required') &&
          'connections without TLS',
      ),

  'every store is encrypted': ({ stateful }) => [
    ...stateful
      .properties('AWS::ElastiCache::ReplicationGroup')
      .map((group) => group.AtRestEncryptionEnabled !== true && 'the hot tier'),
    ...stateful
      .properties('AWS::Kinesis::Stream')
      .map((stream) => stream.StreamEncryption?.EncryptionType !== 'KMS' && 'the stream'),
    ...stateful
      .properties('AWS::S3::Bucket')
      .map(
        (bucket) =>
          !bucket.BucketEncryption?.ServerSideEncryptionConfiguration?.[0]?.ServerSideEncryptionByDefault &&
          'a bucket',
      ),
  ],

  'memory is never freed by eviction': ({ stateful }) =>
    stateful
      .properties('AWS::ElastiCache::ParameterGroup')
      .map(({ Properties }) => Properties['maxmemory-policy'] !== 'noeviction' && 'eviction'),

  'the hot tier admits only IAM users without dangerous commands': ({ stateful }) =>
    stateful
      .properties('AWS::ElastiCache::User')
      .map(
        (user) =>
          user.AccessString.startsWith('on') &&
          (user.AuthenticationMode?.Type !== 'iam' || !user.AccessString.includes('-@dangerous')) &&
          `user ${user.UserName}`,
      ),

  'a lost node loses nothing': ({ stateful }) =>
    stateful
      .properties('AWS::ElastiCache::ReplicationGroup')
      .map(
        (group) =>
          (group.ReplicasPerNodeGroup < 1 || !group.AutomaticFailoverEnabled || !group.MultiAZEnabled) &&
          'no replica in another zone',
      ),

  'a lost zone loses nothing': ({ stateful }) => [
    new Set(stateful.properties('AWS::EC2::Subnet').map((s) => JSON.stringify(s.AvailabilityZone))).size <
      2 && 'all subnets are in one zone',
    ...stateful
      .properties('AWS::ElastiCache::SubnetGroup')
      .map(({ SubnetIds }) => SubnetIds.length < 2 && 'the hot tier has one subnet'),
  ],

  'stores outlive their stack': ({ stateful }) =>
    Object.entries(stateful.template.Resources)
      .filter(([, { Type }]) => STORES.includes(Type))
      .map(
        ([id, { DeletionPolicy, UpdateReplacePolicy }]) =>
          (!DeletionPolicy?.startsWith('Retain') || UpdateReplacePolicy !== 'Retain') && id,
      ),

  'tables can be restored, and are not deleted by mistake': ({ stateful }) =>
    stateful
      .properties('AWS::DynamoDB::Table')
      .map(
        (table) =>
          (table.PointInTimeRecoverySpecification?.PointInTimeRecoveryEnabled !== true ||
            table.DeletionProtectionEnabled !== true) &&
          'a table without recovery or protection',
      ),

  'replaced objects can be restored': ({ stateful }) => [
    stateful.template.Resources.Bucket?.Properties.VersioningConfiguration?.Status !== 'Enabled' &&
      'the bucket keeps no versions',
  ],

  'nothing but quarantine expires': ({ stateful }) =>
    stateful.template.Resources.Bucket!.Properties.LifecycleConfiguration.Rules.map(
      (rule: Resource['Properties']) =>
        rule.ExpirationInDays !== undefined &&
        rule.Prefix !== BUCKET_PREFIX.quarantine &&
        `objects below ${rule.Prefix ?? '/'} expire`,
    ),

  'no bucket is public': ({ stateful }) => [
    ...stateful
      .properties('AWS::S3::Bucket')
      .map(
        ({ PublicAccessBlockConfiguration: block }) =>
          !['BlockPublicAcls', 'BlockPublicPolicy', 'IgnorePublicAcls', 'RestrictPublicBuckets'].every(
            (key) => block?.[key] === true,
          ) && 'a bucket may be made public',
      ),
    ...stateful
      .properties('AWS::S3::BucketPolicy')
      .flatMap(({ PolicyDocument }) => PolicyDocument.Statement)
      .map(
        ({ Effect, Principal }) =>
          Effect === 'Allow' &&
          (Principal === '*' || Principal?.AWS === '*') &&
          'a bucket policy lets everyone in',
      ),
  ],

  'buckets take TLS only': ({ stateful }) =>
    stateful
      .properties('AWS::S3::BucketPolicy')
      .map(
        ({ PolicyDocument }) =>
          !PolicyDocument.Statement.some(
            (s: Resource['Properties']) =>
              s.Effect === 'Deny' && s.Condition?.Bool?.['aws:SecureTransport'] === 'false',
          ) && 'a bucket policy allows plain HTTP',
      ),

  'the stream remembers longer than memory holds': (deployment) => {
    const { window, flushDelay } = settingsOf(deployment);
    return deployment.stateful
      .properties('AWS::Kinesis::Stream')
      .map(
        ({ RetentionPeriodHours = 24 }) =>
          RetentionPeriodHours * HOUR_S < (window + flushDelay) / 1000 + SLACK_S &&
          `${RetentionPeriodHours} h of retention`,
      );
  },

  'the stream remembers what functions were told': (deployment) => {
    const { streamRetention } = settingsOf(deployment);
    return deployment.stateful
      .properties('AWS::Kinesis::Stream')
      .map(
        ({ RetentionPeriodHours = 24 }) =>
          RetentionPeriodHours * HOUR_S * 1000 !== streamRetention &&
          `${RetentionPeriodHours} h of retention, and functions count on ${streamRetention} ms`,
      );
  },

  'a record is tried until just before the stream forgets it, without limit of attempts': (deployment) => {
    const [stream] = deployment.stateful.properties('AWS::Kinesis::Stream');
    const { window, flushDelay } = settingsOf(deployment);
    const inMemoryS = (window + flushDelay) / 1000;
    return deployment.stateless
      .properties('AWS::Lambda::EventSourceMapping')
      .flatMap(({ MaximumRecordAgeInSeconds: ageS = -1, MaximumRetryAttempts: attempts = -1 }) => [
        (ageS < 0 || ageS + inMemoryS >= stream!.RetentionPeriodHours * HOUR_S) &&
          `${ageS} s: the stream forgets before a redriven record has left memory`,
        ageS >= 0 && ageS < SLACK_S && `${ageS} s: records are given up within half a day`,
        attempts !== -1 && `${attempts} attempts`,
      ]);
  },

  'given-up batches go to the bucket, bytes included': ({ stateless }) =>
    stateless
      .properties('AWS::Lambda::EventSourceMapping')
      .map(
        ({ DestinationConfig }) =>
          !JSON.stringify(DestinationConfig?.OnFailure?.Destination ?? '').includes('BucketArn') &&
          'no bucket on failure',
      ),

  'a failed record fails alone, and none is missed': ({ stateless }) =>
    stateless
      .properties('AWS::Lambda::EventSourceMapping')
      .flatMap(({ FunctionResponseTypes = [], StartingPosition }) => [
        !FunctionResponseTypes.includes('ReportBatchItemFailures') && 'a whole batch fails with a record',
        StartingPosition !== 'TRIM_HORIZON' && `starting at ${StartingPosition}`,
      ]),

  "no timeout is shorter than the stores' clients try": (deployment) =>
    functionsOf(deployment).map(
      ({ FunctionName, Timeout = 3, Environment }) =>
        // The client of a store gives up after at most 25 s.
        Environment.Variables.REDIS_URL !== undefined && Timeout < 26 && `${FunctionName}: ${Timeout} s`,
    ),

  'flusher and archiver have time to end a slice': (deployment) =>
    functionsOf(deployment).map(
      ({ FunctionName, Timeout = 3 }) =>
        // For work in progress, the flusher reserves 60 s and the archiver 120 s.
        /-(flusher|archiver)$/.test(FunctionName) && Timeout < 300 && `${FunctionName}: ${Timeout} s`,
    ),

  'warm items live until they are archived': (deployment) => {
    const { warmTtl, archiveAfter, maxSampleAge, streamRetention } = settingsOf(deployment);
    return [
      warmTtl < Math.max(archiveAfter + maxSampleAge + 7 * 24 * HOUR_S * 1000, streamRetention) &&
        `warmTtl of ${warmTtl} ms`,
    ];
  },

  'functions without need of the VPC are outside, where they reach Kinesis': (deployment) =>
    functionsOf(deployment).map(
      ({ FunctionName, VpcConfig }) =>
        VpcConfig !== undefined &&
        OUTSIDE.some((name) => FunctionName === functionName('production', name)) &&
        `${FunctionName} is inside`,
    ),

  'the VPC has no way out': ({ stateful }) =>
    ['NatGateway', 'InternetGateway', 'EgressOnlyInternetGateway', 'VPCGatewayAttachment'].map(
      (type) => Object.keys(stateful.all(`AWS::EC2::${type}`)).length > 0 && type,
    ),

  'only functions reach the hot tier': ({ stateful }) =>
    stateful
      .properties('AWS::EC2::SecurityGroup')
      .flatMap(({ SecurityGroupIngress = [] }) => SecurityGroupIngress)
      .map(
        (rule: Resource['Properties']) =>
          JSON.stringify(rule.SourceSecurityGroupId) !== '{"Fn::GetAtt":["FunctionGroup","GroupId"]}' &&
          `an ingress rule for ${rule.CidrIp ?? 'another group'}`,
      ),

  'no right is a wildcard': (deployment) =>
    statementsOf(deployment)
      .flatMap(({ Action }) => [Action].flat())
      .map((action: string) => action.includes('*') && action),

  'rights to data name their store': (deployment) =>
    statementsOf(deployment).map(
      ({ Action, Resource, Condition }) =>
        Condition === undefined &&
        [Resource].flat().includes('*') &&
        [Action].flat().find((action: string) => /^(dynamodb|s3|kinesis|elasticache):/.test(action)),
    ),

  'no function may delete buckets, tables or streams': (deployment) =>
    statementsOf(deployment)
      .flatMap(({ Action }) => [Action].flat())
      .map(
        (action: string) =>
          /^(s3:DeleteBucket|dynamodb:DeleteTable|kinesis:DeleteStream)/.test(action) && action,
      ),

  'every function has a role of its own': (deployment) => {
    const roles = functionsOf(deployment).map(({ Role }) => JSON.stringify(Role));
    return [new Set(roles).size < FUNCTIONS.length && 'functions share a role'];
  },

  'each loss has an alarm that notifies the topic': ({ stateless }) => {
    const alarms = stateless.properties('AWS::CloudWatch::Alarm');
    return ALARMS.map((name) => {
      const alarm = alarms.find(({ AlarmName }) => AlarmName === `heterotsdb-production-${name}`);
      return (alarm?.AlarmActions?.length !== 1 || alarm.ActionsEnabled === false) && name;
    });
  },

  'silence alarms': ({ stateless }) =>
    stateless
      .properties('AWS::CloudWatch::Alarm')
      .map(
        ({ AlarmName, TreatMissingData }) =>
          /-(flush-lag|archive-lag|loss-open|redrive-failures|rules-late|canary-stale)$/.test(AlarmName) &&
          TreatMissingData !== 'breaching' &&
          AlarmName,
      ),

  'alarms may write to their topic': ({ stateless }) => [
    !stateless
      .properties('AWS::SNS::TopicPolicy')
      .some(({ PolicyDocument }) =>
        PolicyDocument.Statement.some(
          (s: Resource['Properties']) =>
            s.Effect === 'Allow' && [s.Principal?.Service].flat().includes('cloudwatch.amazonaws.com'),
        ),
      ) && 'the topic lets no alarm in',
  ],

  'the API throttles': ({ stateless }) =>
    stateless
      .properties('AWS::ApiGatewayV2::Stage')
      .map(({ DefaultRouteSettings }) => !DefaultRouteSettings?.ThrottlingRateLimit && 'no rate limit'),

  'no header is logged': ({ stateless }) =>
    stateless
      .properties('AWS::ApiGatewayV2::Stage')
      .map(
        ({ AccessLogSettings }) =>
          /header|authorizer/i.test(AccessLogSettings?.Format ?? 'header') && 'the log',
      ),

  'schedules are enabled': ({ stateless }) => [
    ...['flusher', 'recovery', 'archiver', 'evaluator', 'canary'].map((name) => {
      const id = Object.entries(stateless.all('AWS::Lambda::Function')).find(
        ([, { Properties }]) => Properties.FunctionName === functionName('production', name as 'flusher'),
      )![0];
      return (
        !stateless
          .properties('AWS::Events::Rule')
          .some(({ State, Targets }) => State !== 'DISABLED' && JSON.stringify(Targets).includes(id)) && name
      );
    }),
  ],
};

/** Returns the rules that are broken, as `rule: what is wrong`. */
export function violations(deployment: Deployment): string[] {
  return Object.entries(SAFETY).flatMap(([rule, check]) =>
    check(deployment)
      .filter((found) => typeof found === 'string')
      .map((found) => `${rule}: ${found}`),
  );
}
