import type { SeriesDictionary } from '../../dictionary/series-dictionary';
import type { RowSeries } from '../../dictionary/series-source';
import { type Labels, labelsKey, labelValue, METRIC_NAME } from '../../model/labels';
import type { OtlpMetadata } from './metrics';

/** Name of the series that is made from a resource itself, not from its points. */
export const TARGET_INFO_NAME = 'target_info';

/**
 * Counts the data points that samples came from. The samples of a histogram or summary point are in several series, which
 * differ only in the suffix of the name and in the label `le` or `quantile`.
 *
 * @param metadata the metrics of the request
 */
export function countPoints(
  dictionary: Pick<SeriesDictionary, 'labelsOf'>,
  metadata: readonly OtlpMetadata[],
  rows: readonly RowSeries[],
): number {
  if (rows.length === 0) return 0;
  const types = new Map(metadata.map(({ family, type }) => [family, type]));
  // Give each set of point labels a number: the labels may take 4 KB, and a series may have a point in each
  // of many rows.
  const numbers = new Map<string, number>();
  const numberOf = (labels: Labels) => {
    const name = labelValue(labels, METRIC_NAME)!;
    if (name === TARGET_INFO_NAME && !types.has(name)) return undefined;
    const key = labelsKey(pointLabels(labels, name, types));
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  };
  const ofSeries = new Map<number, number | undefined>();
  const points = new Set<string>();
  for (const { timestamp, series } of rows)
    for (const each of series) {
      if (!ofSeries.has(each)) ofSeries.set(each, numberOf(dictionary.labelsOf(each)));
      const number = ofSeries.get(each);
      if (number !== undefined) points.add(`${timestamp} ${number}`);
    }
  return points.size;
}

/** Returns the labels that the samples of a point have in common, with the name of the metric. */
function pointLabels(labels: Labels, name: string, types: ReadonlyMap<string, OtlpMetadata['type']>): Labels {
  const prefix = /^(.*)_(?:bucket|sum|count)$/.exec(name)?.[1];
  const family = [prefix, name].find((each) => ['histogram', 'summary'].includes(types.get(each!)!));
  if (family === undefined) return labels;
  const member = types.get(family) === 'histogram' ? 'le' : 'quantile';
  return [[METRIC_NAME, family], ...labels.filter(([label]) => label !== METRIC_NAME && label !== member)];
}
