import type { Catalogue } from '../catalogue/catalogue';
import { rangeBeforeLastPeriod } from '../catalogue/index-table';
import type { Id } from '../model/id';
import type { GroupId } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import type { MatcherSet } from './browse';
import { type IndexView, matchesOf } from './find-series';
import type { TenantIndexes } from './tenant-index';

interface LaterSeriesStores {
  readonly catalogue: Pick<Catalogue, 'layoutFirstMs'>;
  readonly indexes: Pick<TenantIndexes, 'of'>;
}

/**
 * Most layouts whose first sample is looked up. Each look-up is a request. If there are more layouts, none is looked
 * up, and all stay in the view.
 */
const MAX_LAYOUTS = 1_000;
const PARALLEL = 32;

/**
 * Removes from a view the layouts that began after the range. The index knows only the days and months of a layout. The
 * catalogue knows the window of its first sample. A layout that has samples before the last period of the range did not
 * begin after the range, so the catalogue is asked about the other layouts only.
 *
 * @param view layouts that may have samples in `range`
 * @param selectors the requested series; without any, all series
 */
export async function withoutLaterSeries(
  { catalogue, indexes }: LaterSeriesStores,
  tenantId: Id,
  view: IndexView,
  selectors: readonly MatcherSet[],
  range: TimeRange,
): Promise<IndexView> {
  const { index, live } = view;
  const { live: isEarlier } = await indexes.of(tenantId, rangeBeforeLastPeriod(range));
  const candidates = new Map<number, { readonly group: GroupId; readonly layoutId: Id }>();
  for (const matchers of selectors.length === 0 ? [[]] : selectors)
    for (const match of matchesOf(view, matchers)) {
      const layout = index.numberOf(match)!;
      if (isEarlier[layout] === 1) continue;
      candidates.set(layout, match);
      if (candidates.size > MAX_LAYOUTS) return view;
    }
  const firsts = await mapLimited([...candidates], PARALLEL, async ([layout, { group, layoutId }]) => ({
    layout,
    firstMs: await catalogue.layoutFirstMs(tenantId, group, layoutId),
  }));
  const later = firsts.filter(({ firstMs }) => firstMs !== undefined && firstMs >= range.toMs);
  if (later.length === 0) return view;
  const rest = Uint8Array.from(live);
  for (const { layout } of later) rest[layout] = 0;
  return { ...view, live: rest };
}
