import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { METRIC_NAMESPACE } from './names';

const metrics = new Metrics({ namespace: METRIC_NAMESPACE, serviceName: 'heterotsdb' });

/** Publishes counts as CloudWatch metrics of a function, by the embedded metric format: a log line, no call. */
export function count(functionName: string, counts: Readonly<Record<string, number>>): void {
  metrics.addDimension('Function', functionName);
  for (const [name, value] of Object.entries(counts)) metrics.addMetric(name, MetricUnit.Count, value);
  metrics.publishStoredMetrics();
}
