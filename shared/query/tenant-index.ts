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
import { splitLayout } from '../model/shape';
import { mapLimited } from '../platform/concurrency';
import { SelectLimitError } from './find-series';
import { clampRange } from './plan';

/** Memory of all indexes together. */
const MAX_BYTES = CACHES.indexes.bytes;
/** Layouts of unknown shapes read in parallel. */
const PARALLEL = 32;
/** Most periods read at once, at 16 requests each. The whole retention has some 45, whose requests would wait for each other. */
const PERIODS_AT_ONCE = 4;
/** A period is read again after this, ms; a past one changes by late samples only. */
const FRESH_MS = 1_000;
const PAST_FRESH_MS = 15_000;
/** And after this for each of its entries: ten seconds for 10,000 sources. */
const FRESH_MS_PER_ENTRY = 1;
/** How long a period counts as unchanged if no change is listed, ms. */
const UNCHANGED_MS = 300_000;

interface PeriodLayouts {
  /** Numbers of layouts in the index. */
  readonly layouts: readonly number[];
  readonly readMs: number;
  /** What the list of changes said before; undefined when it said nothing, or an entry could not be used yet. */
  readonly changes: string | undefined;
}

interface TenantIndex {
  readonly index: SeriesIndex;
  /** What the range before had, and of which layouts it was made. */
  last:
    | {
        readonly layouts: readonly (readonly number[])[];
        readonly live: Uint8Array;
        readonly firstMs: Float64Array;
        readonly version: number;
      }
    | undefined;
  readonly periods: Map<Period, PeriodLayouts>;
  readonly reading: Map<Period, Promise<void>>;
}

/**
 * Each tenant's series in memory, by period. A period is read when it is first asked for, and again when it has aged, the
 * larger, the later, unless the list of changes says that it is as it was. What is known of a layout is not read again.
 */
export class TenantIndexes {
  private readonly tenants = new Cache<TenantIndex>(CACHES.indexes, ({ index }) => index.bytes);
  private versions = 0;

  constructor(
    private readonly catalogue: Pick<Catalogue, 'index' | 'packedLayout'>,
    private readonly retentionMs: number,
    private readonly now: () => number,
  ) {}

  /**
   * The index, and 1 at the number of each layout that may have samples in the range; no such sample is earlier than its `firstMs`.
   * `version` stays the same while nothing changes.
   *
   * @param changes of the index, as the catalogue lists them now (change-list.ts); undefined where nobody asked. A period that the instance
   *   has never read is read beside them.
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
    readonly version: number;
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
      // It may be large for periods that others asked for.
      if (known !== undefined) return this.of(tenantId, range, changes);
      throw new SelectLimitError(
        'memory',
        `the index of the range takes more than ${MAX_BYTES / 1e6} MB of memory; ask for a shorter range`,
      );
    }
    // Set again, because its size may have changed.
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
      tenant.last = { layouts, live, firstMs, version: ++this.versions };
    }
    const { live, firstMs, version } = tenant.last!;
    return { index, live, firstMs, version };
  }

  private async refresh(
    tenantId: Id,
    tenant: TenantIndex,
    period: Period,
    asked: Promise<string | undefined> | undefined,
  ): Promise<void> {
    // What is read beside the changes may be older than they are.
    const changes = tenant.periods.has(period) ? await asked : undefined;
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
    // A layout that is about to be written is found the next time.
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

  /** Reads one layout of each shape that the index lacks. */
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
        index.addShape(splitLayout(unpackLayout(packed)).shape);
        if (index.bytes > MAX_BYTES) return;
        break;
      }
    });
  }
}

function isEqual<T>(a: readonly T[] | undefined, b: readonly T[]): boolean {
  return a !== undefined && a.length === b.length && a.every((each, i) => each === b[i]);
}
