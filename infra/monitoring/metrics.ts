import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import {
  functionName,
  METRIC_DIMENSION,
  METRIC_NAMESPACE,
  METRIC_SERVICE,
  type MeteredFunction,
  type MetricName,
} from '../../shared/platform/names';
import type { Stage } from '../config';

const MINUTE = Duration.minutes(1);

/** A metric that one of our functions counts. The types allow only those that the code emits. */
export function ownMetric<F extends MeteredFunction>(
  stage: Stage,
  name: F,
  metricName: MetricName<F>,
  statistic: string,
  period = MINUTE,
): Metric {
  return new Metric({
    namespace: METRIC_NAMESPACE,
    metricName,
    dimensionsMap: { service: METRIC_SERVICE, [METRIC_DIMENSION]: functionName(stage, name) },
    statistic,
    period,
  });
}

/** Metrics that AWS publishes, by service. */
export const awsMetric = {
  api: (metricName: '4xx' | '5xx' | 'Count' | 'Latency', apiId: string, statistic: string) =>
    new Metric({
      namespace: 'AWS/ApiGateway',
      metricName,
      dimensionsMap: { ApiId: apiId },
      statistic,
      period: MINUTE,
    }),
  lambda: (
    metricName: 'Errors' | 'Throttles' | 'Duration' | 'IteratorAge' | 'ConcurrentExecutions',
    name: string,
    statistic: string,
    period = MINUTE,
  ) =>
    new Metric({
      namespace: 'AWS/Lambda',
      metricName,
      dimensionsMap: { FunctionName: name },
      statistic,
      period,
    }),
  /** The account's in the region, on which all its functions draw, also those of others. */
  accountConcurrency: () =>
    new Metric({
      namespace: 'AWS/Lambda',
      metricName: 'ClaimedAccountConcurrency',
      statistic: Stats.MAXIMUM,
      period: MINUTE,
    }),
  mapping: (metricName: 'OnFailureDestinationDeliveredEventCount', mappingId: string) =>
    new Metric({
      namespace: 'AWS/Lambda',
      metricName,
      dimensionsMap: { EventSourceMappingUUID: mappingId },
      statistic: Stats.SUM,
      period: MINUTE,
    }),
  stream: (
    metricName: 'IncomingBytes' | 'IncomingRecords' | 'WriteProvisionedThroughputExceeded',
    streamName: string,
  ) =>
    new Metric({
      namespace: 'AWS/Kinesis',
      metricName,
      dimensionsMap: { StreamName: streamName },
      statistic: Stats.SUM,
      period: MINUTE,
    }),
  table: (
    metricName:
      | 'ConsumedReadCapacityUnits'
      | 'ConsumedWriteCapacityUnits'
      | 'ReadThrottleEvents'
      | 'WriteThrottleEvents',
    tableName: string,
  ) =>
    new Metric({
      namespace: 'AWS/DynamoDB',
      metricName,
      dimensionsMap: { TableName: tableName },
      statistic: Stats.SUM,
      period: MINUTE,
    }),
  cacheNode: (
    metricName: 'DatabaseMemoryUsagePercentage' | 'Evictions' | 'EngineCPUUtilization' | 'ReplicationLag',
    nodeId: string,
    statistic: string,
  ) =>
    new Metric({
      namespace: 'AWS/ElastiCache',
      metricName,
      dimensionsMap: { CacheClusterId: nodeId },
      statistic,
      period: MINUTE,
    }),
} as const;

/** CloudWatch's bound for metric math in an alarm. */
const MAX_METRICS_OF_ALARM = 10;

/**
 * Returns the maximum of several metrics, as one metric for each ten of them. ElastiCache publishes by node, and an alarm
 * can neither search nor take more than ten.
 */
export function maximumOf(metrics: readonly Metric[]): IMetric[] {
  if (metrics.length === 1) return [...metrics];
  const chunks = Array.from({ length: Math.ceil(metrics.length / MAX_METRICS_OF_ALARM) }, (_, i) =>
    metrics.slice(i * MAX_METRICS_OF_ALARM, (i + 1) * MAX_METRICS_OF_ALARM),
  );
  return chunks.map((chunk) =>
    chunk.length === 1
      ? chunk[0]!
      : new MathExpression({
          expression: `MAX([${chunk.map((_, i) => `node${i}`).join(', ')}])`,
          usingMetrics: Object.fromEntries(chunk.map((metric, i) => [`node${i}`, metric])),
          label: chunk[0]!.metricName,
          period: MINUTE,
        }),
  );
}
