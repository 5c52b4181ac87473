import type { LayoutMatch } from '../catalogue/series-index';
import { type Labels, labelsKey, sourceOf } from '../model/labels';
import { type Matcher, matchersText } from '../model/matcher';

/** A read would exceed one of its limits. */
export class SelectLimitError extends Error {
  override readonly name = 'SelectLimitError';

  constructor(
    readonly limit: keyof SelectLimits,
    readonly most: number,
    matchers: readonly Matcher[],
  ) {
    const remedy = limit === 'samples' ? 'narrow it by labels, or shorten the range' : 'narrow it by labels';
    super(`${matchersText(matchers)} selects more than ${most} ${limit}; ${remedy}`);
  }
}

/** Bounds of one read. */
export interface SelectLimits {
  readonly series: number;
  readonly sources: number;
  /** Of all series together, before a tier's are merged with the next one's. */
  readonly samples: number;
}

export const DEFAULT_LIMITS: SelectLimits = { series: 100_000, sources: 10_000, samples: 20_000_000 };

/** A source, and those of its series that match, each once. */
export interface SourceSeries {
  readonly source: Labels;
  readonly series: readonly Labels[];
}

/**
 * Gathers the series that match by source: a source that has had several layouts names a series in each.
 *
 * @throws {SelectLimitError}
 */
export function bySource(
  matches: Iterable<LayoutMatch>,
  matchers: readonly Matcher[],
  { series: maxSeries, sources: maxSources }: SelectLimits,
): SourceSeries[] {
  const found = new Map<string, { readonly source: Labels; readonly series: Map<string, Labels> }>();
  let count = 0;
  const add = (source: Labels, labels: Labels) => {
    const key = labelsKey(source);
    let place = found.get(key);
    if (place === undefined) {
      place = { source, series: new Map() };
      found.set(key, place);
      if (found.size > maxSources) throw new SelectLimitError('sources', maxSources, matchers);
    }
    const before = place.series.size;
    place.series.set(labelsKey(labels), labels);
    count += place.series.size - before;
    if (count > maxSeries) throw new SelectLimitError('series', maxSeries, matchers);
  };
  for (const { source, series } of matches)
    for (const labels of series()) add(source ?? sourceOf.labels(labels), labels);
  return [...found.values()].map(({ source, series }) => ({ source, series: [...series.values()] }));
}
