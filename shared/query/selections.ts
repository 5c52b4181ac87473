import type { JoinedLabels } from '../catalogue/series-index';
import { FairCache } from '../model/fair-cache';
import type { Id } from '../model/id';
import { type Layout, layoutOf } from '../model/layout';
import type { Matcher } from '../model/matcher';
import { sourceIdOf } from '../model/placement';
import { bySource, type IndexView, matchesOf, type SelectLimits, type SourceSeries } from './find-series';

/** A source's series that match. */
export interface Selection extends SourceSeries {
  readonly sourceId: Id;
  /** Of its series. */
  readonly layout: Layout;
}

interface Selected {
  readonly live: Uint8Array;
  readonly joined: JoinedLabels;
  readonly sources: readonly Selection[];
  readonly seriesCount: number;
}

const MAX_BYTES = 64_000_000;
const SOURCE_BYTES = 2_000;
const SERIES_BYTES = 1_000;

/**
 * What matchers selected of the tenants' indexes: dashboards ask for the same again and again, and an index rarely changes. Tenants
 * share the memory fairly.
 */
export class Selections {
  private readonly known = new FairCache<Selected>({
    maxSize: MAX_BYTES,
    sizeOf: ({ sources, seriesCount }) => 1_000 + SOURCE_BYTES * sources.length + SERIES_BYTES * seriesCount,
  });

  /** @throws {SelectLimitError} */
  of(
    tenantId: Id,
    view: IndexView,
    matchers: readonly Matcher[],
    limits: SelectLimits,
  ): readonly Selection[] {
    const { live, joined } = view;
    const key = JSON.stringify(matchers);
    const known = this.known.get(tenantId, key);
    if (
      known?.live === live &&
      known.joined === joined &&
      known.seriesCount <= limits.series &&
      known.sources.length <= limits.sources
    )
      return known.sources;
    const sources = bySource(matchesOf(view, matchers), matchers, limits).map((found) => ({
      ...found,
      sourceId: sourceIdOf(tenantId, found.source),
      layout: layoutOf(found.series),
    }));
    const seriesCount = sources.reduce((sum, { series }) => sum + series.length, 0);
    this.known.set(tenantId, key, { live, joined, sources, seriesCount });
    return sources;
  }
}
