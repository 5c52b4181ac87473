import { wordsOf } from '../graphs/graphs';

/** A metric of the tenant. */
export interface FoundMetric {
  readonly name: string;
  /** How many series have the name; undefined where others have so many more that it was not counted. */
  readonly series: number | undefined;
  readonly type?: string;
  readonly help?: string;
}

/** The metrics that have every word of a search in their name or help; those with a match in the name come first. */
export function findMetrics<T extends FoundMetric>(metrics: readonly T[], search: string): readonly T[] {
  const words = wordsOf(search);
  if (words.length === 0) return metrics;
  const has = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const [named, helped]: [T[], T[]] = [[], []];
  for (const metric of metrics) {
    if (has(metric.name)) named.push(metric);
    else if (has(`${metric.name} ${metric.help ?? ''}`)) helped.push(metric);
  }
  return [...named, ...helped];
}
