import type { Catalogue } from '../catalogue/catalogue';
import { seriesOf } from '../catalogue/source-series';
import type { Id } from '../model/id';
import { type Labels, labelsKey, labelValue, METRIC_NAME, sourceOf } from '../model/labels';
import { sourceIdOf } from '../model/placement';
import { mapLimited } from '../platform/concurrency';

export interface SeriesFilter {
  /** Labels that a series has, beside others; may be empty. */
  readonly labels: Labels;
  /** How its name begins. */
  readonly prefix: string;
  /** At most so many series of each source; 1 lists the sources. */
  readonly perSource: number;
}

/** Where a page ends: so many of a source's series that match are listed, and all sources before it. */
export interface SeriesCursor {
  readonly sourceId: Id;
  readonly listed: number;
}

export interface SeriesPage {
  readonly series: readonly Labels[];
  /** Undefined on the last page. */
  readonly next: SeriesCursor | undefined;
}

/** Sources looked at for one page, a query each: a filter may match few of very many. */
const MAX_SOURCES = 200;
const PARALLEL = 16;

/**
 * Lists series by the index of sources. If the filter names a host, that one source is read and no other. The source that
 * has exactly the labels comes first.
 *
 * @param limit series of the page
 * @param from where the last page ended
 */
export async function listSeries(
  catalogue: Pick<Catalogue, 'source' | 'sources'>,
  tenantId: Id,
  filter: SeriesFilter,
  limit: number,
  from?: SeriesCursor,
): Promise<SeriesPage> {
  const series: Labels[] = [];
  let looked = 0;
  const sources = candidates(catalogue, tenantId, filter.labels, from?.sourceId);
  let next = await sources.next();
  while (!next.done) {
    const batch: Id[] = [];
    for (; !next.done && batch.length < Math.min(PARALLEL, limit); next = await sources.next())
      batch.push(next.value);
    const known = await mapLimited(batch, PARALLEL, (id) => catalogue.source(tenantId, id));
    for (const [i, sourceId] of batch.entries()) {
      const listed = sourceId === from?.sourceId ? from.listed : 0;
      const rest = matching(seriesOf(known[i]!), filter).slice(listed);
      const room = limit - series.length;
      series.push(...rest.slice(0, room));
      looked++;
      const isLast = next.done && i === batch.length - 1 && rest.length <= room;
      if (!isLast && (rest.length >= room || looked === MAX_SOURCES))
        return { series, next: { sourceId, listed: listed + Math.min(rest.length, room) } };
    }
  }
  return { series, next: undefined };
}

/** The sources that may have series of these labels, from one on. */
async function* candidates(
  catalogue: Pick<Catalogue, 'sources'>,
  tenantId: Id,
  labels: Labels,
  from: Id | undefined,
): AsyncGenerator<Id, void> {
  const exact = labels.length === 0 ? undefined : sourceIdOf(tenantId, sourceOf.labels(labels));
  if (exact !== undefined && (from === undefined || from === exact)) yield exact;
  if (labelValue(labels, 'host') !== undefined) return;
  const after = from === exact ? undefined : from;
  if (after !== undefined) yield after;
  for await (const sourceId of catalogue.sources(tenantId, after)) if (sourceId !== exact) yield sourceId;
}

function matching(series: readonly Labels[], { labels, prefix, perSource }: SeriesFilter): Labels[] {
  return series
    .filter(
      (each) =>
        labelValue(each, METRIC_NAME)!.startsWith(prefix) &&
        labels.every(([name, value]) => labelValue(each, name) === value),
    )
    .map((each) => ({ each, key: labelsKey(each) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .slice(0, perSource)
    .map(({ each }) => each);
}
