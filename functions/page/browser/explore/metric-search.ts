import { wordsOf } from '../graphs/graphs';

/** A metric of the tenant. */
export interface FoundMetric {
  readonly name: string;
  /** Number of series with the name; undefined if it was not counted, because many other names have more. */
  readonly series: number | undefined;
  readonly type?: string;
  readonly help?: string;
}

/** Finds the metrics whose name or help text contains every word. Metrics whose names match come first. */
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
