import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import { type Layout, layoutOf } from '../model/layout';
import type { Matcher } from '../model/matcher';
import { sourceIdOf } from '../model/placement';
import { bySource, type IndexView, matchesOf, type SelectLimits, type SourceSeries } from './find-series';

/** A source's series that match. */
export interface SelectedSource extends SourceSeries {
  readonly sourceId: Id;
  /** Of its series. */
  readonly layout: Layout;
}

/** A view whose version names what it shows: views of a tenant that have equal ones select the same series. */
export interface VersionedView extends IndexView {
  /** None of a layout's samples in the range is earlier, ms; by the layout's number. */
  readonly firstMs: Float64Array;
  readonly version: string;
}

interface CachedSelection {
  /** Version of the view. */
  readonly version: string;
  readonly sources: readonly SelectedSource[];
  readonly seriesCount: number;
}

const SOURCE_BYTES = 2_000;
const SERIES_BYTES = 1_000;

/**
 * What matchers selected of the tenants' indexes: dashboards ask for the same again and again, and an index rarely changes. Tenants
 * share the memory fairly.
 */
export class Selections {
  private readonly cache = new Cache<CachedSelection>(
    CACHES.selections,
    ({ sources, seriesCount }) => 1_000 + SOURCE_BYTES * sources.length + SERIES_BYTES * seriesCount,
  );

  /** @throws {SelectLimitError} */
  of(
    tenantId: Id,
    view: VersionedView,
    matchers: readonly Matcher[],
    limits: SelectLimits,
  ): readonly SelectedSource[] {
    const { version } = view;
    const key = JSON.stringify(matchers);
    const known = this.cache.get(key, tenantId);
    if (
      known?.version === version &&
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
    this.cache.set(key, { version, sources, seriesCount }, tenantId);
    return sources;
  }
}
