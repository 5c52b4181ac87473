import type { Catalogue } from '../catalogue/catalogue';
import { seriesOf } from '../catalogue/source-series';
import type { SeriesDictionary } from '../dictionary/series-dictionary';
import type { RowSeries, SourceRow, SourceRows } from '../dictionary/series-source';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import { labelsKey } from '../model/labels';
import { sourceIdOf } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { SeriesLimitError } from '../tenancy/limits';
import type { TenantMeter } from '../tenancy/tenant-meter';
import type { Tenant } from '../tenancy/tenants';

const PARALLEL = 16;
/**
 * How long an instance caches the series of a source, in ms. A series that another instance admits during this time
 * still counts as new in this one.
 */
const CACHE_MS = 300_000;
/** Approximate memory of one cached series, in bytes. */
const SERIES_BYTES = 150;
/**
 * Maximum number of sources that an instance looks up for a tenant in one {@link LOOKUP_PERIOD_MS}. When a sender
 * retries a refused request, more of the request's sources are cached each time. So the largest request, of 10,000
 * sources, succeeds after 100 periods, before its first cache entries expire. The periods are short, so that one
 * request does not occupy the table for long.
 */
const MAX_LOOKUPS = 100;
const LOOKUP_PERIOD_MS = 1_000;

/**
 * Wait suggested to a sender whose tenant has reached its limit of series, in ms. The hourly recount leaves out series
 * that had no samples for a day.
 */
const RETRY_MS = 3_600_000;

/** Receives the timestamp and the series of samples that are dropped. */
export type OnDropped = (row: RowSeries) => void;

/**
 * Enforces a tenant's limit on its number of series. If a tenant has reached the limit, samples of series that do not
 * exist yet are dropped. To find out which series exist, this class looks up the series of each source, and caches
 * them.
 *
 * The number of look-ups per tenant and period is bounded, because a tenant can name any number of new sources. Once
 * the look-ups are used up, requests with uncached sources are refused until the next period. Requests whose sources
 * are all cached proceed.
 */
export class SeriesLimit {
  /** Keys of a source's existing series, one for each set of labels, by source and tenant. */
  private readonly cache = new Cache<ReadonlySet<string>>(
    CACHES.existingSeries,
    (series) => SERIES_BYTES * (series.size + 1),
    { ttlMs: CACHE_MS },
  );
  /** Number of look-ups used in the current period, by tenant. */
  private lookups = { endMs: -Infinity, used: new Map<Id, number>() };

  constructor(
    private readonly meter: Pick<TenantMeter, 'isFullOfSeries' | 'limits'>,
    private readonly catalogue: Pick<Catalogue, 'findExisting' | 'source'>,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Removes samples of series that do not exist yet, if the tenant has reached its limit.
   *
   * @param onDropped called with the timestamp and series of dropped samples
   * @returns the remaining rows, and the number of samples dropped
   * @throws {SeriesLimitError} when all samples would be dropped, or too many sources had to be looked up to find out
   *   which series are new
   */
  async admit(
    tenant: Tenant,
    sources: readonly SourceRows[],
    onDropped: OnDropped = () => {},
  ): Promise<{ readonly kept: readonly SourceRows[]; readonly dropped: number }> {
    if (!this.meter.isFullOfSeries(tenant)) return { kept: sources, dropped: 0 };
    const known = await this.seriesOf(
      tenant,
      sources.map(([source]) => sourceIdOf(tenant.id, source.labels)),
    );
    let dropped = 0;
    const left = sources.map(([source, rows], i) => {
      const old = rows.flatMap((row) => {
        const { kept, others } = partsOf(source.dictionary, row, known[i]!);
        dropped += others.length;
        if (others.length > 0) onDropped({ timestamp: row.timestamp, series: others });
        return kept.values.length === 0 ? [] : [kept];
      });
      return [source, old] as const;
    });
    const kept = left.filter(([, rows]) => rows.length > 0);
    if (kept.length === 0 && dropped > 0) throw this.refusal(tenant, RETRY_MS);
    return { kept, dropped };
  }

  /**
   * Returns the series of each source. Before it throws, it looks up as many sources as the period still allows, so a
   * retry needs fewer look-ups.
   */
  private async seriesOf(tenant: Tenant, sourceIds: readonly Id[]): Promise<ReadonlySet<string>[]> {
    const { id: tenantId } = tenant;
    const copies = new Map(sourceIds.map((id) => [id, this.cache.get(id, tenantId)]));
    const missing = [...copies].flatMap(([id, copy]) => (copy === undefined ? [id] : []));
    const { endMs, used } = this.period();
    const checked = missing.slice(0, MAX_LOOKUPS - (used.get(tenantId) ?? 0));
    used.set(tenantId, (used.get(tenantId) ?? 0) + checked.length);
    const existing =
      checked.length === 0 ? new Set<Id>() : await this.catalogue.findExisting(tenantId, checked);
    await mapLimited(checked, PARALLEL, async (id) => {
      const series = new Set(
        existing.has(id) ? seriesOf(await this.catalogue.source(tenantId, id)).map(labelsKey) : [],
      );
      this.cache.set(id, series, tenantId);
      copies.set(id, series);
    });
    if (checked.length < missing.length) throw this.refusal(tenant, endMs - this.now());
    return sourceIds.map((id) => copies.get(id)!);
  }

  private refusal(tenant: Tenant, retryAfterMs: number): SeriesLimitError {
    return new SeriesLimitError(this.meter.limits(tenant).series, retryAfterMs);
  }

  private period() {
    const nowMs = this.now();
    if (this.lookups.endMs <= nowMs) this.lookups = { endMs: nowMs + LOOKUP_PERIOD_MS, used: new Map() };
    return this.lookups;
  }
}

/** Divides a row into the samples of series that are in `known`, and the series of its other samples. */
function partsOf(
  dictionary: SeriesDictionary,
  row: SourceRow,
  known: ReadonlySet<string>,
): { readonly kept: SourceRow; readonly others: Int32Array } {
  const { timestamp, series, values } = row;
  const isKnown = Array.from(series, (each) => known.has(labelsKey(dictionary.labelsOf(each))));
  const kept = Array.from(series.keys()).filter((i) => isKnown[i]);
  if (kept.length === series.length) return { kept: row, others: new Int32Array(0) };
  return {
    kept: {
      timestamp,
      series: Int32Array.from(kept, (i) => series[i]!),
      values: BigUint64Array.from(kept, (i) => values[i]!),
    },
    others: series.filter((_, i) => !isKnown[i]),
  };
}
