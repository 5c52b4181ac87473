import { labelValue, METRIC_NAME } from '../labels';
import type { SourceCatalogue } from '../meta/catalogue';

/** The metric names a source has posted, sorted. */
export function metricNames({ layouts }: SourceCatalogue): string[] {
  const names = new Set<string>();
  for (const known of layouts.values())
    for (const { series } of known)
      for (const labels of series) {
        const name = labelValue(labels, METRIC_NAME);
        if (name !== undefined) names.add(name);
      }
  return [...names].sort();
}
