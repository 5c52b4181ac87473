import type { Catalogue } from '../catalogue/catalogue';
import {
  type IndexedLayout,
  type Period,
  periodEndMs,
  periodStartMs,
  periodsOf,
} from '../catalogue/index-table';
import { SeriesIndex } from '../catalogue/series-index';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import { unpackLayout } from '../model/packed-layout';
import type { TimeRange } from '../model/selection';
import { shapeOf } from '../model/shape';
import { mapLimited } from '../platform/concurrency';
import { SelectLimitError } from './find-series';
import { clampRange } from './plan';

/** Memory for all indexes together, in bytes. One index may take all of it. */
const MAX_BYTES = CACHES.indexes.bytes;
/**
 * Maximum number of layouts that are read at the same time to find out their shapes. A shape is the set of columns that
 * the layouts of many sources have in common.
 */
const PARALLEL = 32;
/**
 * Maximum number of periods that are read at a time, with 8 requests each. More concurrent requests would delay each
 * other.
 */
const PERIODS_AT_ONCE = 8;
/**
 * Age, in ms, at which the copy of a current period is read again. For past periods it is {@link PAST_FRESH_MS},
 * because only late samples change a past period.
 */
const FRESH_MS = 1_000;
const PAST_FRESH_MS = 15_000;
/**
 * Minimum age at which a copy is read again, in ms per entry of the period. So a period with 10,000 entries is read at
 * most once every ten seconds.
 */
const FRESH_MS_PER_ENTRY = 1;
/** Age, in ms, at which a copy is read again even if the list of changes shows no change. */
const UNCHANGED_MS = 300_000;

interface PeriodLayouts {
  /** Numbers of the period's layouts in the index. */
  readonly layouts: readonly number[];
  readonly readMs: number;
  /**
   * The change token that was read before the period; undefined if there was no token, or if an entry could not be used
   * yet.
   */
  readonly changes: string | undefined;
}

interface TenantIndex {
  readonly index: SeriesIndex;
  /** The view that was built for the last range, and the layouts of that range. */
  last:
    | {
        readonly layouts: readonly (readonly number[])[];
        readonly live: Uint8Array;
        readonly firstMs: Float64Array;
        readonly generation: number;
      }
    | undefined;
  readonly periods: Map<Period, PeriodLayouts>;
  readonly reading: Map<Period, Promise<void>>;
}

/**
 * Caches each tenant's index of series, by period. A period is read when a query first needs it. It is read again when
 * the copy is too old, unless the list of changes shows that the tenant's index has not changed. The more entries a
 * period has, the older its copy may become. Layouts that are in the cache are not read again.
 */
export class TenantIndexes {
  private readonly tenants = new Cache<TenantIndex>(CACHES.indexes, ({ index }) => index.bytes);
  private generations = 0;

  constructor(
    private readonly catalogue: Pick<Catalogue, 'index' | 'packedLayout'>,
    private readonly retentionMs: number,
    private readonly now: () => number,
  ) {}

  /**
   * Returns the index for a range. For each layout's number, `live` is 1 if the layout may have samples in the range,
   * and `firstMs` is a lower bound on the times of those samples. `generation` stays the same while nothing changes.
   *
   * @param changes the index's current change token (change-list.ts); undefined if it was not read. A period that this
   *   instance has never read is read without waiting for the token
   * @throws {SelectLimitError} when the index exceeds its memory
   */
  async of(
    tenantId: Id,
    range: TimeRange,
    changes?: Promise<string | undefined>,
  ): Promise<{
    readonly index: SeriesIndex;
    readonly live: Uint8Array;
    readonly firstMs: Float64Array;
    readonly generation: number;
  }> {
    const periods = periodsOf(clampRange(range, this.now(), this.retentionMs));
    const known = this.tenants.get(tenantId);
    const tenant = known ?? {
      index: new SeriesIndex(),
      last: undefined,
      periods: new Map(),
      reading: new Map(),
    };
    await mapLimited(periods, PERIODS_AT_ONCE, (period) => this.refresh(tenantId, tenant, period, changes));
    const { index } = tenant;
    if (index.bytes > MAX_BYTES) {
      this.tenants.delete(tenantId);
      // Try again with a new index: this one may be large because of other requests' periods.
      if (known !== undefined) return this.of(tenantId, range, changes);
      throw new SelectLimitError(
        'memory',
        `the series index of the range takes more than ${MAX_BYTES / 1e6} MB of memory; ask for a shorter range`,
      );
    }
    // Put the index into the cache again: the cache measures an entry only when the entry is put, and the index may
    // have grown.
    this.tenants.set(tenantId, tenant);
    const layouts = periods.map((period) => tenant.periods.get(period)!.layouts);
    if (!isEqual(tenant.last?.layouts, layouts)) {
      const live = new Uint8Array(index.layoutCount);
      const firstMs = new Float64Array(index.layoutCount).fill(Infinity);
      for (const [i, ofPeriod] of layouts.entries()) {
        const startMs = periodStartMs(periods[i]!);
        for (const layout of ofPeriod) {
          live[layout] = 1;
          firstMs[layout] = Math.min(firstMs[layout]!, startMs);
        }
      }
      tenant.last = { layouts, live, firstMs, generation: ++this.generations };
    }
    const { live, firstMs, generation } = tenant.last!;
    return { index, live, firstMs, generation };
  }

  private async refresh(
    tenantId: Id,
    tenant: TenantIndex,
    period: Period,
    newest: Promise<string | undefined> | undefined,
  ): Promise<void> {
    // Do not use the token for a new period: its entries are read concurrently with the token, so they may be older
    // than the token.
    const changes = tenant.periods.has(period) ? await newest : undefined;
    const last = tenant.periods.get(period);
    const now = this.now();
    if (last !== undefined) {
      const restMs = periodEndMs(period) < now ? PAST_FRESH_MS : FRESH_MS;
      const isUnchanged = changes !== undefined && changes === last.changes;
      const freshMs = Math.max(restMs, FRESH_MS_PER_ENTRY * last.layouts.length);
      if (now - last.readMs < (isUnchanged ? Math.max(UNCHANGED_MS, freshMs) : freshMs)) return;
    }
    const others = tenant.reading.get(period);
    if (others !== undefined) return others;
    const reading = this.read(tenantId, tenant, period, changes).finally(() => tenant.reading.delete(period));
    tenant.reading.set(period, reading);
    return reading;
  }

  private async read(
    tenantId: Id,
    { index, periods }: TenantIndex,
    period: Period,
    changes: string | undefined,
  ): Promise<void> {
    const readMs = this.now();
    const entries = await this.catalogue.index.read(tenantId, period);
    await this.addShapes(tenantId, index, entries);
    const layouts: number[] = [];
    // Skip an entry whose shape cannot be read yet, because the layout that has the shape is still being written. The
    // next read of the period picks the entry up.
    for (const entry of entries)
      if (index.numberOf(entry) !== undefined || index.hasShape(entry.shapeId))
        layouts.push(index.add(entry));
    const last = periods.get(period)?.layouts;
    periods.set(period, {
      layouts: isEqual(last, layouts) ? last! : layouts,
      readMs,
      changes: layouts.length === entries.length ? changes : undefined,
    });
  }

  /** Reads one layout of each shape that is not in the index yet. */
  private async addShapes(
    tenantId: Id,
    index: SeriesIndex,
    entries: readonly IndexedLayout[],
  ): Promise<void> {
    const unknown = Map.groupBy(
      entries.filter(({ shapeId }) => !index.hasShape(shapeId)),
      ({ shapeId }) => shapeId,
    );
    await mapLimited([...unknown.values()], PARALLEL, async (candidates) => {
      for (const { group, layoutId } of candidates) {
        const packed = await this.catalogue.packedLayout(tenantId, group, layoutId);
        if (packed === undefined) continue;
        index.addShape(shapeOf(unpackLayout(packed)).shape);
        if (index.bytes > MAX_BYTES) return;
        break;
      }
    });
  }
}

function isEqual<T>(a: readonly T[] | undefined, b: readonly T[]): boolean {
  return a !== undefined && a.length === b.length && a.every((each, i) => each === b[i]);
}
