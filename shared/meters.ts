import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import {
  METRIC_DIMENSION,
  METRIC_NAMESPACE,
  METRIC_SERVICE,
  type MeteredFunction,
  type MetricName,
} from './names';

const metrics = new Metrics({ namespace: METRIC_NAMESPACE, serviceName: METRIC_SERVICE });

/**
 * Publishes counts as CloudWatch metrics of a function, by the embedded metric format: a log line, no call. The
 * dimension has the function's whole name, stage included: two stages may share an account.
 */
export function count<F extends MeteredFunction>(
  name: F,
  counts: Readonly<Partial<Record<MetricName<F>, number>>>,
): void {
  metrics.addDimension(METRIC_DIMENSION, process.env.AWS_LAMBDA_FUNCTION_NAME ?? name);
  for (const [metric, value] of Object.entries(counts as Readonly<Record<string, number>>))
    metrics.addMetric(metric, MetricUnit.Count, value);
  metrics.publishStoredMetrics();
}
