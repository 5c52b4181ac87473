import type { SeriesIndex } from '../catalogue/series-index';
import type { JoinedLabels, LayoutMatch } from '../catalogue/shape-columns';
import { type Labels, labelsKey, labelsOf, labelValue } from '../model/labels';
import { compileMatcher, type Matcher, matchersText, type Spend } from '../model/matcher';

/** A query would exceed one of its limits or run out of time, or a tenant's index would exceed its memory. */
export class SelectLimitError extends Error {
  override readonly name = 'SelectLimitError';

  constructor(
    readonly limit: keyof SelectLimits | 'memory' | 'time',
    message: string,
  ) {
    super(message);
  }
}

/**
 * Creates the error for an exceeded limit.
 *
 * @param most the limit
 * @param matchers the selector that exceeded the limit
 * @param isAlone whether the query has only this selector
 */
export function tooMany(
  limit: keyof SelectLimits,
  most: number,
  matchers: readonly Matcher[],
  isAlone = true,
): SelectLimitError {
  const remedy = limit === 'samples' ? 'narrow it by labels, or shorten the range' : 'narrow it by labels';
  return new SelectLimitError(
    limit,
    `${matchersText(matchers)} ${isAlone ? 'selects' : 'and the other selectors of the query select'} more than ${most} ${limit}; ${remedy}`,
  );
}

/**
 * Creates the error for a query that is refused before its samples are read.
 *
 * @param estimate estimated number of samples of the selectors whose reads are planned so far
 * @param most the limit
 */
export function tooManyExpected(
  estimate: number,
  most: number,
  matchers: readonly Matcher[],
  isAlone: boolean,
): SelectLimitError {
  return new SelectLimitError(
    'samples',
    `${matchersText(matchers)} ${isAlone ? 'selects' : 'and the other selectors of the query select'} an estimated ${estimate} samples or more, ` +
      `and at most ${most} may be read; narrow it by labels, or shorten the range`,
  );
}

export interface SelectLimits {
  /** Maximum number of series that all selectors together may find. */
  readonly series: number;
  /** Maximum number of sources that one selector may find. */
  readonly sources: number;
  /** Maximum number of samples that all selectors together may read. */
  readonly samples: number;
}

export const DEFAULT_LIMITS: SelectLimits = { series: 100_000, sources: 10_000, samples: 20_000_000 };

/** A source and its matching series, without duplicates. */
export interface SourceSeries {
  readonly source: Labels;
  readonly series: readonly Labels[];
  /** Matches in the index: one for each layout that contains some of the series. */
  readonly matches: readonly LayoutMatch[];
}

/** A tenant's index, the layouts that may have samples in a request's range, and the labels that the registry adds. */
export interface IndexView {
  readonly index: SeriesIndex;
  /** For each layout number, 1 if the layout may have samples in the range, else 0. */
  readonly live: Uint8Array;
  readonly joined: JoinedLabels;
  /**
   * Called before a string is matched, with the maximum number of steps that the match can take. May throw to stop
   * matching.
   */
  readonly spend?: Spend;
}

export function matchesOf(
  { index, live, joined, spend }: IndexView,
  matchers: readonly Matcher[],
): Iterable<LayoutMatch> {
  return index.select(matchers.map(compileMatcher), live, joined, spend);
}

/**
 * Groups matches by source. If a source has had several layouts, several of its matches can contain the same series.
 * The result lists each series once.
 *
 * @throws {SelectLimitError}
 */
export function bySource(
  matches: Iterable<LayoutMatch>,
  matchers: readonly Matcher[],
  { series: maxSeries, sources: maxSources }: SelectLimits,
): SourceSeries[] {
  const found: SourceSeries[] = [];
  let count = 0;
  for (const { source, matches: ofSource } of matchesBySource(matches)) {
    if (found.length === maxSources) throw tooMany('sources', maxSources, matchers);
    const series = seriesOfAll(ofSource, maxSeries - count);
    if (series === undefined) throw tooMany('series', maxSeries, matchers);
    count += series.length;
    found.push({ source, series, matches: ofSource });
  }
  return found;
}

/** Returns the distinct series of a source's matches; undefined if there are more than `most`. */
function seriesOfAll(matches: readonly LayoutMatch[], most: number): Labels[] | undefined {
  const [only, ...others] = matches;
  // A layout has no duplicate series.
  if (others.length === 0) return only!.size > most ? undefined : [...only!.series()];
  const series = new Map<string, Labels>();
  for (const match of matches)
    for (const labels of match.series()) {
      series.set(labelsKey(labels), labels);
      if (series.size > most) return undefined;
    }
  return [...series.values()];
}

/** Groups matches by source. A match whose series come from several sources is divided into one match for each. */
export function matchesBySource(
  matches: Iterable<LayoutMatch>,
): Iterable<{ readonly source: Labels; readonly matches: LayoutMatch[] }> {
  const found = new Map<string, { readonly source: Labels; readonly matches: LayoutMatch[] }>();
  for (const match of matches)
    for (const [source, part] of match.bySource()) {
      const key = labelsKey(source);
      const own = found.get(key);
      if (own === undefined) found.set(key, { source, matches: [part] });
      else own.matches.push(part);
    }
  return found.values();
}

/** Returns the labels that the registry adds for a source's host; none if the source is not a host. */
export function joinedLabels(source: Labels, joined: JoinedLabels): Labels {
  const host = labelValue(source, 'host');
  return (host === undefined ? undefined : joined.of(host)) ?? [];
}

/** Adds the registry's labels to a series. Stored labels of the same names take precedence. */
export function withJoined(labels: Labels, joined: Labels): Labels {
  if (joined.length === 0) return labels;
  return labelsOf(...labels, ...joined.filter(([name]) => labelValue(labels, name) === undefined));
}
