import type { LayoutMatch, PairCounts } from '../catalogue/shape-columns';
import { type Labels, labelsKey, METRIC_NAME } from '../model/labels';
import type { Matcher } from '../model/matcher';
import {
  bySource,
  type IndexView,
  joinedLabels,
  matchesBySource,
  matchesOf,
  type SelectLimits,
  withJoined,
} from './find-series';

/** The matchers of one selector. A series must satisfy all of them. */
export type MatcherSet = readonly Matcher[];

/**
 * Finds the series that at least one of the selectors selects, without duplicates. The labels of a series include the
 * labels that the registry adds.
 *
 * @throws {SelectLimitError}
 * @throws {InvalidPatternError}
 */
export function findSeries(
  view: IndexView,
  selectors: readonly MatcherSet[],
  limits: SelectLimits,
): Labels[] {
  const found = new Map<string, Labels>();
  for (const matchers of selectors)
    for (const { source, series } of bySource(matchesOf(view, matchers), matchers, limits)) {
      const joined = joinedLabels(source, view.joined);
      for (const labels of series) found.set(labelsKey(labels), withJoined(labels, joined));
    }
  return [...found.values()];
}

/** Returns the names of labels of the selected series, sorted. Without selectors, all series are selected. */
export function labelNames(view: IndexView, selectors: readonly MatcherSet[]): string[] {
  const names = new Set<string>();
  for (const match of matchesOfAny(view, selectors)) match.addNames(names);
  return [...names].sort();
}

/**
 * Returns the values of a label in the selected series, sorted. Without selectors, all series are selected.
 */
export function labelValues(view: IndexView, label: string, selectors: readonly MatcherSet[]): string[] {
  return view.index.valuesOf(label, matchesOfAny(view, selectors)).sort();
}

export interface NameCount {
  readonly name: string;
  readonly count: number;
}

/** Statistics about a tenant's series. Each list is in descending order of counts. */
export interface Cardinality {
  readonly series: number;
  readonly labelPairs: number;
  readonly seriesByName: readonly NameCount[];
  readonly valuesByLabel: readonly NameCount[];
  /** Names are `label=value`. */
  readonly seriesByPair: readonly NameCount[];
  /** Total size of a label's distinct values, in UTF-8 bytes. */
  readonly bytesByLabel: readonly NameCount[];
}

/**
 * Counts series by name and by label-value pair, and the distinct values of each label. Ignores labels that the
 * registry adds.
 *
 * @param most maximum length of each list
 */
export function cardinality(view: IndexView, most: number): Cardinality {
  const pairs: PairCounts = new Map();
  let series = 0;
  for (const { matches } of matchesBySource(matchesOf(view, []))) {
    const [only, ...others] = matches;
    if (others.length === 0) {
      only!.addPairs(pairs);
      series += only!.size;
      continue;
    }
    // Several layouts may contain the same series.
    const known = new Set<string>();
    for (const match of matches)
      match.addPairs(pairs, (labels) => {
        const before = known.size;
        return known.add(labelsKey(labels)).size > before;
      });
    series += known.size;
  }
  const labels = [...pairs].map(([label, values]) => ({ label, values: [...values] }));
  const ofPair = labels.flatMap(({ label, values }) =>
    top(counts(values), most).map(({ name, count }) => ({ name: `${label}=${name}`, count })),
  );
  return {
    series,
    labelPairs: labels.reduce((sum, { values }) => sum + values.length, 0),
    seriesByName: top(counts(pairs.get(METRIC_NAME) ?? []), most),
    valuesByLabel: top(
      labels.map(({ label, values }) => ({ name: label, count: values.length })),
      most,
    ),
    seriesByPair: top(ofPair, most),
    bytesByLabel: top(
      labels.map(({ label, values }) => ({ name: label, count: bytesOf(values) })),
      most,
    ),
  };
}

function counts(values: Iterable<readonly [string, number]>): NameCount[] {
  return Array.from(values, ([name, count]) => ({ name, count }));
}

function bytesOf(values: readonly (readonly [string, number])[]): number {
  return values.reduce((sum, [value]) => sum + Buffer.byteLength(value), 0);
}

function top(all: NameCount[], most: number): NameCount[] {
  return all.sort((a, b) => b.count - a.count).slice(0, most);
}

function* matchesOfAny(view: IndexView, selectors: readonly MatcherSet[]): Generator<LayoutMatch> {
  for (const matchers of selectors.length === 0 ? [[]] : selectors) yield* matchesOf(view, matchers);
}
