import type { Catalogue } from '../catalogue/catalogue';
import { NOTHING_JOINED } from '../catalogue/shape-columns';
import { seriesOf } from '../catalogue/source-series';
import type { Id } from '../model/id';
import { type Labels, labelsKey, labelValue, METRIC_NAME, sourceOf } from '../model/labels';
import { compileMatcher, equals } from '../model/matcher';
import { sourceIdOf } from '../model/placement';
import { matchesBySource } from './find-series';
import type { TenantIndexes } from './tenant-index';

export interface SeriesFilter {
  /** Labels that a series must have; it may also have others. If empty, any series matches. */
  readonly labels: Labels;
  /** Prefix of the series' names. */
  readonly prefix: string;
  /** Maximum number of series per source; 1 lists the sources. */
  readonly perSource: number;
}

/**
 * The end of a page. The pages so far contain all sources before `sourceId`, and the first `listed` matching series of
 * `sourceId`.
 */
export interface SeriesCursor {
  readonly sourceId: Id;
  readonly listed: number;
}

export interface SeriesPage {
  readonly series: readonly Labels[];
  /** Undefined on the last page. */
  readonly next: SeriesCursor | undefined;
}

/** A source whose series may match. */
interface Candidate {
  readonly id: Id;
  /**
   * Sources are listed in the order of this text: the source's id, or the empty text for the source that has exactly
   * the wanted labels.
   */
  readonly rank: string;
  readonly series: () => Iterable<Labels>;
}

/**
 * Lists all series, whether or not they still have samples. If the filter names a host, that host's series come from
 * the catalogue; otherwise, series come from the index. The source whose labels equal the filter's labels comes first.
 * The other sources follow, sorted by id.
 *
 * @param limit maximum number of series on a page
 * @param from the end of the previous page
 * @throws {SelectLimitError}
 */
export async function listSeries(
  stores: ListStores,
  tenantId: Id,
  filter: SeriesFilter,
  limit: number,
  from?: SeriesCursor,
): Promise<SeriesPage> {
  const series: Labels[] = [];
  const candidates = await candidatesOf(stores, tenantId, filter);
  // If the cursor's source has disappeared from the index, continue with the first source after it.
  const start =
    from === undefined
      ? 0
      : candidates.findIndex(({ id, rank }) => id === from.sourceId || rank > from.sourceId);
  if (start < 0) return { series, next: undefined };
  for (const [i, candidate] of candidates.entries()) {
    if (i < start) continue;
    const listed = candidate.id === from?.sourceId ? from.listed : 0;
    const rest = matching(candidate.series(), filter).slice(listed);
    const most = limit - series.length;
    series.push(...rest.slice(0, most));
    const isLast = i === candidates.length - 1 && rest.length <= most;
    if (!isLast && rest.length >= most)
      return { series, next: { sourceId: candidate.id, listed: listed + Math.min(rest.length, most) } };
  }
  return { series, next: undefined };
}

export interface ListStores {
  readonly catalogue: Pick<Catalogue, 'source'>;
  readonly indexes: Pick<TenantIndexes, 'of'>;
}

async function candidatesOf(
  { catalogue, indexes }: ListStores,
  tenantId: Id,
  { labels, prefix }: SeriesFilter,
): Promise<Candidate[]> {
  const exact = labels.length === 0 ? undefined : sourceIdOf(tenantId, sourceOf.labels(labels));
  if (labelValue(labels, 'host') !== undefined) {
    const known = await catalogue.source(tenantId, exact!);
    return [{ id: exact!, rank: '', series: () => seriesOf(known) }];
  }
  const { index, live } = await indexes.of(tenantId, ALL_TIME);
  const matchers = [
    ...labels.map(([label, value]) => compileMatcher(equals(label, value))),
    {
      label: METRIC_NAME,
      test: (name: string) => name.startsWith(prefix),
      stepsPerCharacter: 1,
      values: undefined,
      prefix,
      acceptsEmpty: false,
    },
  ];
  return Array.from(
    matchesBySource(index.select(matchers, live, NOTHING_JOINED)),
    ({ source, matches }): Candidate => {
      const id = sourceIdOf(tenantId, source);
      return {
        id,
        rank: id === exact ? '' : id,
        *series() {
          for (const match of matches) yield* match.series();
        },
      };
    },
  ).sort((a, b) => (a.rank < b.rank ? -1 : 1));
}

const ALL_TIME = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

/** Returns a source's matching series, without duplicates, sorted by their labels as text. */
function matching(series: Iterable<Labels>, { labels, prefix, perSource }: SeriesFilter): Labels[] {
  const found = new Map<string, Labels>();
  for (const each of series)
    if (
      labelValue(each, METRIC_NAME)!.startsWith(prefix) &&
      labels.every(([name, value]) => labelValue(each, name) === value)
    )
      found.set(labelsKey(each), each);
  return [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, perSource)
    .map(([, each]) => each);
}
