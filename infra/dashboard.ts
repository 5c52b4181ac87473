import { Duration } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard as CloudWatchDashboard,
  GraphWidget,
  type IMetric,
  PeriodOverride,
  Stats,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { FUNCTIONS, functionName } from '../shared/platform/names';
import type { Watched } from './alarms';
import { awsMetric, ownMetric } from './metrics';

/** Graphs in a row. */
const PER_ROW = 3;
/** Of the grid's 24 columns. */
const WIDTH = 8;
/** Nodes in one graph; beyond it lines cannot be told apart. */
const MAX_LINES = 24;

/** One page, in the order in which a sample passes: API, stream, hot, warm, cold; then functions. */
export class Dashboard extends Construct {
  constructor(scope: Construct, id: string, watched: Watched, alarms: readonly Alarm[]) {
    super(scope, id);
    const { stage, apiId, streamName, tableNames, cacheNodes } = watched;
    const own = (...args: Parameters<typeof ownMetric> extends [unknown, ...infer Rest] ? Rest : never) =>
      ownMetric(stage, ...args);
    const nodes = cacheNodes.slice(0, MAX_LINES);
    const perFunction = (metricName: Parameters<typeof awsMetric.lambda>[0], statistic: string) =>
      FUNCTIONS.map((name) =>
        awsMetric.lambda(metricName, functionName(stage, name), statistic).with({ label: name }),
      );
    const graphs: [title: string, left: IMetric[], right?: IMetric[]][] = [
      [
        'Requests, and those that failed',
        [awsMetric.api('Count', apiId, Stats.SUM)],
        [awsMetric.api('4xx', apiId, Stats.SUM), awsMetric.api('5xx', apiId, Stats.SUM)],
      ],
      ['Time of a request, ms', ['p50', 'p99'].map((p) => awsMetric.api('Latency', apiId, p))],
      [
        'Samples accepted, appended, dropped',
        [own('post', 'SamplesAccepted', Stats.SUM), own('ingester', 'SamplesAppended', Stats.SUM)],
        [own('post', 'SamplesDropped', Stats.SUM)],
      ],
      [
        'Stream: bytes in, records refused',
        [awsMetric.stream('IncomingBytes', streamName)],
        [awsMetric.stream('WriteProvisionedThroughputExceeded', streamName)],
      ],
      [
        'Ingester: behind the stream, ms',
        [awsMetric.lambda('IteratorAge', functionName(stage, 'ingester'), Stats.MAXIMUM)],
      ],
      [
        'Records failed, in quarantine',
        [own('ingester', 'RecordsFailed', Stats.SUM), own('ingester', 'RecordsQuarantined', Stats.SUM)],
      ],
      [
        'Memory used, %',
        nodes.map((node) => awsMetric.cacheNode('DatabaseMemoryUsagePercentage', node, Stats.MAXIMUM)),
      ],
      ['Cache CPU, %', nodes.map((node) => awsMetric.cacheNode('EngineCPUUtilization', node, Stats.AVERAGE))],
      [
        'In memory, s: oldest that is due, and how long windows stay',
        [
          own('flusher', 'OldestUnflushedSeconds', Stats.MAXIMUM),
          own('flusher', 'ResidencySeconds', Stats.MINIMUM),
        ],
      ],
      [
        'Samples flushed; windows that failed',
        [own('flusher', 'SamplesFlushed', Stats.SUM)],
        [own('flusher', 'WindowsFailed', Stats.SUM)],
      ],
      [
        'Days archived, failed; behind, s',
        [
          own('archiver', 'DaysArchived', Stats.SUM, Duration.hours(1)),
          own('archiver', 'DaysFailed', Stats.SUM, Duration.hours(1)),
        ],
        [own('archiver', 'ArchiveLagSeconds', Stats.MAXIMUM, Duration.hours(1))],
      ],
      [
        'DynamoDB units',
        Object.values(tableNames).flatMap((table) => [
          awsMetric.table('ConsumedWriteCapacityUnits', table),
          awsMetric.table('ConsumedReadCapacityUnits', table),
        ]),
      ],
      [
        'Losses open, replays running',
        [own('recovery', 'LossOpen', Stats.MAXIMUM), own('recovery', 'ReplayRunning', Stats.MAXIMUM)],
      ],
      [
        'Canary: age of what it reads, s; wrong, missing',
        [own('canary', 'CanaryAgeSeconds', Stats.MAXIMUM)],
        [own('canary', 'CanaryWrong', Stats.SUM), own('canary', 'CanaryGaps', Stats.SUM)],
      ],
      ['Errors of functions', perFunction('Errors', Stats.SUM), perFunction('Throttles', Stats.SUM)],
      ['Time of functions, ms', perFunction('Duration', Stats.percentile(99))],
    ];
    const dashboard = new CloudWatchDashboard(this, 'Dashboard', {
      dashboardName: `heterotsdb-${stage}`,
      periodOverride: PeriodOverride.INHERIT,
    });
    dashboard.addWidgets(
      new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: WIDTH * PER_ROW, height: 6 }),
    );
    for (let i = 0; i < graphs.length; i += PER_ROW)
      dashboard.addWidgets(
        ...graphs
          .slice(i, i + PER_ROW)
          .map(([title, left, right]) => new GraphWidget({ title, left, right, width: WIDTH, height: 6 })),
      );
  }
}
