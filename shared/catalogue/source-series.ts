import { type Labels, labelsKey, labelValue, METRIC_NAME } from '../model/labels';
import type { SourceCatalogue } from './catalogue';

/** Lists every series that a source has posted, without duplicates. */
export function seriesOf({ layouts, isOwn }: SourceCatalogue): Labels[] {
  const found = new Map<string, Labels>();
  for (const known of layouts.values())
    for (const { series } of known) for (const labels of series) found.set(labelsKey(labels), labels);
  return isOwn === undefined ? [...found.values()] : [...found.values()].filter(isOwn);
}

/**
 * Lists the names of the metrics that a source has posted, sorted.
 *
 * @param source the source's labels. If given, a metric is listed only if its series has no labels other than these and
 *   `__name__`
 */
export function metricNames(known: SourceCatalogue, source?: Labels): string[] {
  const names = seriesOf(known)
    .filter((labels) => source === undefined || labels.length === source.length + 1)
    .map((labels) => labelValue(labels, METRIC_NAME)!);
  return [...new Set(names)].sort();
}
