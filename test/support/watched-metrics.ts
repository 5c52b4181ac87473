import { METRIC_NAMESPACE } from '../../shared/platform/names';
import type { Resource, Synthesized } from '../infra/synthesize';

/** Formats a metric as `namespace name dimension=value,...`, with the dimensions in alphabetical order. */
export function metricText(
  namespace: string,
  name: string,
  dimensions: Readonly<Record<string, unknown>>,
): string {
  const pairs = Object.entries(dimensions).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `${namespace} ${name} ${pairs.sort().join(',')}`;
}

/** Lists every metric of our own that a template's alarms or dashboard use. */
export function watchedMetrics(stack: Synthesized): string[] {
  const found = [
    ...stack.properties('AWS::CloudWatch::Alarm').flatMap(metricsOfAlarm),
    ...metricsOfDashboard(stack),
  ];
  return [...new Set(found)].filter((text) => text.startsWith(`${METRIC_NAMESPACE} `)).sort();
}

function metricsOfAlarm(alarm: Resource['Properties']): string[] {
  const metrics = alarm.Metrics?.map((m: Resource['Properties']) => m.MetricStat?.Metric) ?? [alarm];
  return metrics
    .filter((metric: unknown) => metric !== undefined)
    .map(({ Namespace, MetricName, Dimensions = [] }: Resource['Properties']) =>
      metricText(
        Namespace,
        MetricName,
        Object.fromEntries(Dimensions.map(({ Name, Value }: Resource['Properties']) => [Name, Value])),
      ),
    );
}

function metricsOfDashboard(stack: Synthesized): string[] {
  const { DashboardBody } = stack.only('AWS::CloudWatch::Dashboard');
  const parts: unknown[] = DashboardBody['Fn::Join'][1];
  // Values that are known only at deployment appear as parts of strings. None of our metrics contains one.
  const body = JSON.parse(parts.map((part) => (typeof part === 'string' ? part : 'token')).join(''));
  return body.widgets
    .flatMap(({ properties }: Resource['Properties']) => properties.metrics ?? [])
    .map(([namespace, name, ...rest]: [string, string, ...unknown[]]) => {
      const texts = rest.filter((part) => typeof part === 'string');
      const dimensions = Object.fromEntries(
        Array.from({ length: texts.length / 2 }, (_, i) => [texts[2 * i], texts[2 * i + 1]]),
      );
      return metricText(namespace, name, dimensions);
    });
}
