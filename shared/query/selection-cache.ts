import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import { type Layout, layoutOf } from '../model/layout';
import type { Matcher } from '../model/matcher';
import { sourceIdOf } from '../model/placement';
import { bySource, type IndexView, matchesOf, type SelectLimits, type SourceSeries } from './find-series';

export interface SelectedSource extends SourceSeries {
  readonly sourceId: Id;
  /** The layout of the matching series. */
  readonly layout: Layout;
}

/** A view whose selections can be cached. Views of a tenant with equal tokens select the same series. */
export interface CacheableView extends IndexView {
  /** For each layout number, a lower bound on the times of the layout's samples in the range, in ms. */
  readonly firstMs: Float64Array;
  readonly token: string;
}

interface CachedSelection {
  /** Token of the view in which the series were selected. */
  readonly token: string;
  readonly sources: readonly SelectedSource[];
  readonly seriesCount: number;
}

const SOURCE_BYTES = 2_000;
const SERIES_BYTES = 1_000;

/**
 * Caches the series that matchers select from a tenant's index, because dashboards repeat the same queries and an index
 * rarely changes. Tenants share the memory fairly.
 */
export class SelectionCache {
  private readonly cache = new Cache<CachedSelection>(
    CACHES.selections,
    ({ sources, seriesCount }) => 1_000 + SOURCE_BYTES * sources.length + SERIES_BYTES * seriesCount,
  );

  /**
   * Returns the series that the matchers select.
   *
   * @throws {SelectLimitError}
   */
  of(
    tenantId: Id,
    view: CacheableView,
    matchers: readonly Matcher[],
    limits: SelectLimits,
  ): readonly SelectedSource[] {
    const { token } = view;
    const key = JSON.stringify(matchers);
    const known = this.cache.get(key, tenantId);
    if (
      known?.token === token &&
      known.seriesCount <= limits.series &&
      known.sources.length <= limits.sources
    )
      return known.sources;
    const sources = bySource(matchesOf(view, matchers), matchers, limits).map((found) => ({
      ...found,
      sourceId: sourceIdOf(tenantId, found.source),
      layout: found.matches.length === 1 ? found.matches[0]!.ownLayout(found.series) : layoutOf(found.series),
    }));
    const seriesCount = sources.reduce((sum, { series }) => sum + series.length, 0);
    this.cache.set(key, { token, sources, seriesCount }, tenantId);
    return sources;
  }
}
