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

/** Returns a metric published by one of our functions. The types allow only metrics that the code emits. */
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

/** Metrics published by AWS, by service. */
export const awsMetric = {
  api: (metricName: '4xx' | '5xx' | 'Count' | 'Latency', apiId: string, statistic: string) =>
    new Metric({
      namespace: 'AWS/ApiGateway',
      metricName,
      dimensionsMap: { ApiId: apiId },
      statistic,
      period: MINUTE,
    }),
  /** Requests at a function's URL. */
  functionUrl: (
    metricName: 'Url4xxCount' | 'Url5xxCount' | 'UrlRequestCount' | 'UrlRequestLatency',
    name: string,
    statistic: string,
  ) =>
    new Metric({
      namespace: 'AWS/Lambda',
      metricName,
      dimensionsMap: { FunctionName: name },
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
  /** Concurrency of the whole account in the region, including other applications' functions. */
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

/** Maximum number of metrics in an alarm's metric math. */
const MAX_METRICS_OF_ALARM = 10;

/**
 * Returns the maximum of several metrics, as one metric for every ten. ElastiCache publishes metrics per node, and an
 * alarm can neither search for metrics nor combine more than ten.
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
