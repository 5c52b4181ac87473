import { Duration, Stack, Validations } from 'aws-cdk-lib';
import { CfnBudget } from 'aws-cdk-lib/aws-budgets';
import { Alarm, ComparisonOperator, type IMetric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { FUNCTIONS, functionName } from '../shared/platform/names';
import type { Settings } from '../shared/platform/settings';
import type { Stage } from './config';
import { awsMetric, greatest, ownMetric } from './metrics';

/** What alarms and dashboard look at. */
export interface Watched {
  readonly stage: Stage;
  readonly settings: Settings;
  readonly apiId: string;
  readonly streamName: string;
  readonly tableNames: { readonly warm: string; readonly meta: string };
  /** Ids of the hot tier's nodes. */
  readonly cacheNodes: readonly string[];
  /** Of the mapping that feeds the ingester. */
  readonly mappingId: string;
}

interface AlarmShape {
  /** Its name after `heterotsdb-<stage>-`; the row of the README's runbook has it too. */
  readonly name: string;
  /** What has happened when it goes off. */
  readonly says: string;
  readonly metric: IMetric;
  /** It goes off above this. */
  readonly above: number;
  /** How many of how many periods; one alone is enough otherwise. */
  readonly within?: readonly [alarming: number, periods: number];
  /** Whether silence is as bad: for what is published each minute or hour as long as the pipeline runs. */
  readonly isSilenceAlarming?: boolean;
}

const QUARTER = Duration.minutes(15);
const HOUR = Duration.hours(1);
const DAY_S = 86_400;

/** How far the ingester may be behind before somebody is called, ms. */
const MAX_ITERATOR_AGE_MS = 300_000;
/** How far beyond its time a group-window may stay in memory. */
const FLUSH_SLACK_S = 900;

/** All that is watched. Each has a row in the README's runbook, which a test holds against this list. */
function alarmShapes(watched: Watched): AlarmShape[] {
  const { stage, settings, apiId, streamName, tableNames, cacheNodes, mappingId } = watched;
  const residencyS = (settings.window + settings.flushDelay) / 1000;
  const perNode = (
    name: string,
    metricName: Parameters<typeof awsMetric.cacheNode>[0],
    statistic: string,
    rest: Omit<AlarmShape, 'name' | 'metric'>,
  ): AlarmShape[] =>
    greatest(cacheNodes.map((node) => awsMetric.cacheNode(metricName, node, statistic))).map((metric, i) => ({
      name: i === 0 ? name : `${name}-${i + 1}`,
      metric,
      ...rest,
    }));
  return [
    {
      name: 'api-errors',
      says: 'More than 1 % of requests get a 5xx.',
      metric: awsMetric.api('5xx', apiId, Stats.AVERAGE),
      above: 0.01,
      within: [3, 5],
    },
    {
      name: 'api-latency',
      says: 'One request in a hundred takes longer than 5 s.',
      metric: awsMetric.api('Latency', apiId, Stats.percentile(99)),
      above: 5000,
      within: [10, 15],
    },
    {
      name: 'stream-throttled',
      says: 'The stream refuses records: clients get 503 and send again.',
      metric: awsMetric.stream('WriteProvisionedThroughputExceeded', streamName),
      above: 0,
      within: [3, 5],
    },
    {
      name: 'stream-lag',
      says: 'The ingester is more than 5 minutes behind the stream.',
      metric: awsMetric.lambda('IteratorAge', functionName(stage, 'ingester'), Stats.MAXIMUM),
      above: MAX_ITERATOR_AGE_MS,
      within: [5, 5],
    },
    {
      name: 'records-failed',
      says: 'A store does not take what the ingester brings; the batches are tried again.',
      metric: ownMetric(stage, 'ingester', 'RecordsFailed', Stats.SUM),
      above: 0,
      within: [5, 10],
    },
    {
      name: 'gave-up',
      says: 'Batches grew too old to be tried again and were put into the bucket, whole.',
      metric: awsMetric.mapping('OnFailureDestinationDeliveredEventCount', mappingId),
      above: 0,
    },
    {
      name: 'quarantine',
      says: 'Records that cannot be decoded were put into quarantine.',
      metric: ownMetric(stage, 'ingester', 'RecordsQuarantined', Stats.SUM),
      above: 0,
    },
    ...FUNCTIONS.map((name) => ({
      name: `function-errors-${name}`,
      says: `The function ${name} fails or is cut off.`,
      metric: awsMetric.lambda('Errors', functionName(stage, name), Stats.SUM),
      above: 0,
      // It runs once an hour: one failure is all that a quarter of an hour can have.
      within: name === 'archiver' ? undefined : ([3, 15] as const),
    })),
    ...FUNCTIONS.map((name) => ({
      name: `function-throttled-${name}`,
      says: `Lambda refuses to run the function ${name}: its or the account's concurrency is used up.`,
      metric: awsMetric.lambda('Throttles', functionName(stage, name), Stats.SUM),
      above: 0,
      within: [3, 5] as const,
    })),
    {
      name: 'concurrency',
      says: "Four fifths of the account's concurrency are claimed.",
      metric: awsMetric.accountConcurrency(),
      above: settings.accountConcurrency * 0.8,
      within: [3, 5],
    },
    ...perNode('cache-memory', 'DatabaseMemoryUsagePercentage', Stats.MAXIMUM, {
      says: 'Memory stays above 85 % although windows are flushed early.',
      above: 85,
      within: [10, 10],
      isSilenceAlarming: true,
    }),
    ...perNode('cache-evictions', 'Evictions', Stats.SUM, {
      says: 'The cache evicted keys: acknowledged samples are gone from memory. It must never happen.',
      above: 0,
    }),
    ...perNode('cache-cpu', 'EngineCPUUtilization', Stats.AVERAGE, {
      says: 'A node of the cache is busy for more than 80 % of the time.',
      above: 80,
      within: [10, 10],
    }),
    ...(settings.cacheReplicas === 0
      ? []
      : perNode('cache-replication-lag', 'ReplicationLag', Stats.MAXIMUM, {
          says: 'A replica is more than 10 s behind: a failover now would cost what it lacks, until it is read again.',
          above: 10,
          within: [5, 5],
        })),
    {
      name: 'flush-lag',
      says: 'Group-windows stay in memory beyond their time, or the flusher is silent.',
      metric: ownMetric(stage, 'flusher', 'OldestUnflushedSeconds', Stats.MAXIMUM),
      above: residencyS + FLUSH_SLACK_S,
      within: [10, 10],
      isSilenceAlarming: true,
    },
    {
      name: 'unflushed-age',
      says: 'Something has been in memory for a quarter of the time after which its key expires.',
      metric: ownMetric(stage, 'flusher', 'OldestUnflushedSeconds', Stats.MAXIMUM),
      // Keys live as long as the stream remembers. A short stream must not alarm at what is only flush lag.
      above: Math.max(settings.streamRetention / 4000, residencyS + 2 * FLUSH_SLACK_S),
    },
    {
      name: 'flush-failures',
      says: 'Group-windows or partitions fail to be flushed; they stay due.',
      metric: ownMetric(stage, 'flusher', 'WindowsFailed', Stats.SUM),
      above: 0,
      within: [5, 10],
    },
    {
      name: 'archive-lag',
      says: 'A day waits for the archive for more than a day beyond its time, or the archiver is silent.',
      metric: ownMetric(stage, 'archiver', 'ArchiveLagSeconds', Stats.MAXIMUM, HOUR),
      above: DAY_S,
      within: [3, 3],
      isSilenceAlarming: true,
    },
    {
      name: 'archive-failures',
      says: 'Days fail to be archived; they stay open.',
      metric: ownMetric(stage, 'archiver', 'DaysFailed', Stats.SUM, HOUR),
      above: 0,
      within: [3, 4],
    },
    ...Object.entries(tableNames).flatMap(([table, tableName]) =>
      (['ReadThrottleEvents', 'WriteThrottleEvents'] as const).map((metricName) => ({
        name: `table-throttled-${table}-${metricName === 'ReadThrottleEvents' ? 'reads' : 'writes'}`,
        says: `DynamoDB refuses calls of the ${table} table; they are tried again.`,
        metric: awsMetric.table(metricName, tableName),
        above: 0,
        within: [5, 10] as const,
      })),
    ),
    {
      name: 'canary-stale',
      says: 'The canary has not read back a sample of its own for 5 minutes, or is silent.',
      metric: ownMetric(stage, 'canary', 'CanaryAgeSeconds', Stats.MAXIMUM),
      above: 300,
      within: [3, 3],
      isSilenceAlarming: true,
    },
    {
      name: 'canary-wrong',
      says: 'The canary read a value that it did not send.',
      metric: ownMetric(stage, 'canary', 'CanaryWrong', Stats.SUM),
      above: 0,
    },
    {
      name: 'canary-gaps',
      says: 'Samples of the canary are missing in the warm tier or the archive.',
      metric: ownMetric(stage, 'canary', 'CanaryGaps', Stats.SUM),
      above: 0,
    },
    {
      name: 'redrive-failures',
      says: 'What the mapping gave up cannot be driven again.',
      metric: ownMetric(stage, 'recovery', 'ObjectsNotRedriven', Stats.MAXIMUM, QUARTER),
      above: 0,
      within: [3, 3],
    },
    {
      name: 'loss-open',
      says: 'Memory was lost and the stream has not been read again by itself for 15 minutes, or recovery is silent.',
      metric: ownMetric(stage, 'recovery', 'LossOpen', Stats.MAXIMUM),
      above: 0,
      within: [15, 15],
      isSilenceAlarming: true,
    },
  ];
}

/** The alarms, the topic they write to, and the budget. */
export class Alarms extends Construct {
  readonly topic: Topic;
  readonly alarms: readonly Alarm[];

  constructor(scope: Construct, id: string, watched: Watched) {
    super(scope, id);
    const { stage, settings } = watched;
    this.topic = new Topic(this, 'Topic', { displayName: `HeteroTSDB ${stage}`, enforceSSL: true });
    // A topic with a policy of its own no longer has the default one, which lets the account's services publish.
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        sid: 'AlarmsAndBudget',
        principals: [
          new ServicePrincipal('cloudwatch.amazonaws.com'),
          new ServicePrincipal('budgets.amazonaws.com'),
        ],
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
    if (settings.alarmEmail !== '')
      Validations.of(this.topic.addSubscription(new EmailSubscription(settings.alarmEmail))).acknowledge({
        id: 'Serverless-SNSRedrivePolicy',
        reason:
          'A mail that is not delivered says nothing more when it is sent later: the alarm keeps its state.',
      });

    const action = new SnsAction(this.topic);
    this.alarms = alarmShapes(watched).map((shape) => {
      const [alarming, periods] = shape.within ?? [1, 1];
      const alarm = new Alarm(this, shape.name, {
        alarmName: `heterotsdb-${stage}-${shape.name}`,
        alarmDescription: `${shape.says} What to do: README.md, "When an alarm goes off", ${shape.name}.`,
        metric: shape.metric,
        comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
        threshold: shape.above,
        datapointsToAlarm: alarming,
        evaluationPeriods: periods,
        treatMissingData: shape.isSilenceAlarming
          ? TreatMissingData.BREACHING
          : TreatMissingData.NOT_BREACHING,
      });
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
      return alarm;
    });
    if (settings.monthlyBudget > 0) this.addBudget(stage, settings.monthlyBudget);
  }

  /** Counts what is tagged, once the tags `application` and `stage` are activated in the account's billing. */
  private addBudget(stage: Stage, dollars: number): void {
    const subscribers = [{ subscriptionType: 'SNS', address: this.topic.topicArn }];
    const tagged = (key: string, value: string) => ({
      tags: { key, values: [value], matchOptions: ['EQUALS'] },
    });
    new CfnBudget(this, 'Budget', {
      budget: {
        budgetName: `heterotsdb-${stage}`,
        budgetType: 'COST',
        timeUnit: 'MONTHLY',
        budgetLimit: { amount: dollars, unit: 'USD' },
        filterExpression: { and: [tagged('application', 'heterotsdb'), tagged('stage', stage)] },
        metrics: ['UnblendedCost'],
      },
      notificationsWithSubscribers: [
        { type: 'ACTUAL', threshold: 80 },
        { type: 'FORECASTED', threshold: 100 },
      ].map(({ type, threshold }) => ({
        notification: {
          notificationType: type,
          comparisonOperator: 'GREATER_THAN',
          threshold,
          thresholdType: 'PERCENTAGE',
        },
        subscribers,
      })),
    });
  }
}
