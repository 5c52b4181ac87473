import type { Id } from '../model/id';
import { unionLayout } from '../model/layout';
import { pickSeries } from '../model/layout-block';
import { anyLimiter, Batches } from '../platform/concurrency';
import type { Tenant } from '../tenancy/tenants';
import { type Reading, readLayout } from './read';
import type { ReadDependencies, SourceRead } from './read-context';
import { joinWhereabouts } from './whereabouts';

const NOTHING_READ: Reading['tiers'] = {
  hot: { durationMs: 0, samples: 0, places: [] },
  warm: { durationMs: 0, samples: 0, places: [] },
  cold: { durationMs: 0, samples: 0, places: [] },
};

/**
 * Reads series of a tenant's sources. Concurrent reads of the same source and range are combined into one
 * read of all their series: a tenant's rules, and the selectors of a query, often want different metrics of
 * the same sources.
 */
export class SourceReads {
  private readonly together = new Batches<SourceRead, Reading>();

  constructor(
    private readonly dependencies: ReadDependencies,
    private readonly tenant: Tenant,
  ) {}

  /**
   * Reads series: see {@link readLayout}. Combined reads share a result. Only the first one's `tiers` has
   * figures, so that sums count them once.
   */
  read(sourceId: Id, asked: SourceRead, allowsMissing = false): Promise<Reading> {
    // Do not combine reads in steps: grains of rollups are by column, and cannot be picked by series.
    if (asked.steps !== undefined) return readLayout(this.dependencies, this.tenant, asked, allowsMissing);
    const { range } = asked;
    const key = `${range.fromMs} ${range.toMs} ${allowsMissing} ${sourceId}`;
    return this.together.add(key, asked, (all) => this.readAll(all, allowsMissing));
  }

  /**
   * Reads the series of combined requests. Only requests with the same deletions of the source are combined.
   */
  private async readAll(all: readonly SourceRead[], allowsMissing: boolean): Promise<Reading[]> {
    const readings = new Map<SourceRead, Reading>();
    await Promise.all(
      [...Map.groupBy(all, ({ deletions }) => deletions).values()].map(async (same) => {
        const union = unionLayout(same.map(({ wanted }) => wanted));
        const bounds = same.flatMap(({ beyondMemory = [] }) => beyondMemory);
        const whereabouts = same.length === 1 ? same[0]! : joinWhereabouts(same);
        const expect = same.length === 1 ? same[0]!.expect : expectOfAll(same, union.series.length);
        const asked = {
          ...same[0]!,
          ...whereabouts,
          wanted: union,
          beyondMemory: anyLimiter(bounds),
          expect,
        };
        const whole = await readLayout(this.dependencies, this.tenant, asked, allowsMissing);
        same.forEach((each, i) => {
          const block = pickSeries({ block: whole.block, layout: union }, each.wanted)!;
          readings.set(each, { ...whole, block, tiers: i === 0 ? whole.tiers : NOTHING_READ });
        });
      }),
    );
    return all.map((each) => readings.get(each)!);
  }
}

/** Divides an estimate among combined reads. A query whose budget refuses its part stops; the other queries continue. */
function expectOfAll(all: readonly SourceRead[], series: number): SourceRead['expect'] {
  return (home, samples) => {
    for (const { expect, wanted } of all)
      try {
        expect?.(home, Math.round((samples * wanted.series.length) / series));
      } catch {
        // The budget has stopped that query's reads and keeps the error.
      }
  };
}
