import type { Id } from '../model/id';
import { mergeLayouts } from '../model/layout';
import { pickSeries } from '../model/layout-block';
import { anyLimiter, Batches } from '../platform/concurrency';
import type { Tenant } from '../tenancy/tenants';
import { type Reading, readLayout } from './read';
import type { Expect, ReadDependencies, SourceRead } from './read-context';
import { joinWhereabouts } from './whereabouts';

const NOTHING_READ: Reading['tiers'] = {
  hot: { durationMs: 0, samples: 0, places: [] },
  warm: { durationMs: 0, samples: 0, places: [] },
  cold: { durationMs: 0, samples: 0, places: [] },
};

interface AskedSource {
  readonly sourceId: Id;
  readonly asked: SourceRead;
}

/**
 * Reads series of a tenant's sources. Concurrent reads of the same source and range are combined into one
 * read of all their series: a tenant's rules, and the selectors of a query, often want different metrics of
 * the same sources.
 */
export class SourceReads {
  private readonly together = new Batches<AskedSource, Promise<Reading>>();

  constructor(
    private readonly dependencies: ReadDependencies,
    private readonly tenant: Tenant,
  ) {}

  /**
   * Reads series: see {@link readLayout}. Combined reads share a result. Only the first one's `tiers` has
   * figures, so that sums count them once.
   */
  async read(sourceId: Id, asked: SourceRead, allowsMissing = false): Promise<Reading> {
    // Do not combine reads of rollups: their grains and points are by column, and cannot be picked by series.
    if (asked.steps !== undefined || asked.grains !== undefined) return this.readOne(asked, allowsMissing);
    const { range } = asked;
    const key = `${range.fromMs} ${range.toMs} ${allowsMissing}`;
    return this.together.add(key, { sourceId, asked }, async (all) => this.readSources(all, allowsMissing));
  }

  private readOne(asked: SourceRead, allowsMissing: boolean): Promise<Reading> {
    return readLayout(this.dependencies, this.tenant, asked, allowsMissing);
  }

  /** Reads sources of one range. The result of each request is a promise of its own, so that it fails alone. */
  private readSources(all: readonly AskedSource[], allowsMissing: boolean): Promise<Reading>[] {
    const bySource = Map.groupBy(all, ({ sourceId }) => sourceId);
    // Nearly always each source is requested once.
    if (bySource.size === all.length) return all.map(({ asked }) => this.readOne(asked, allowsMissing));
    const combined = new Map(
      Array.from(bySource, ([sourceId, own]) => [
        sourceId,
        this.readCombined(
          own.map(({ asked }) => asked),
          allowsMissing,
        ),
      ]),
    );
    return all.map(async ({ sourceId, asked }) => (await combined.get(sourceId)!).get(asked)!);
  }

  /**
   * Reads the series of combined requests for a source. Only requests with the same deletions of the source
   * are combined.
   */
  private async readCombined(
    all: readonly SourceRead[],
    allowsMissing: boolean,
  ): Promise<Map<SourceRead, Reading>> {
    const readings = new Map<SourceRead, Reading>();
    await Promise.all(
      [...Map.groupBy(all, ({ deletions }) => deletions).values()].map(async (same) => {
        const wanted = mergeLayouts(same.map(({ wanted }) => wanted));
        const bounds = same.flatMap(({ beyondMemory = [] }) => beyondMemory);
        const whereabouts = same.length === 1 ? same[0]! : joinWhereabouts(same);
        const expect = same.length === 1 ? same[0]!.expect : expectOfAll(same);
        const asked = {
          ...same[0]!,
          ...whereabouts,
          wanted,
          beyondMemory: anyLimiter(bounds),
          expect,
        };
        const whole = await this.readOne(asked, allowsMissing);
        same.forEach((each, i) => {
          const block = pickSeries({ block: whole.block, layout: wanted }, each.wanted)!;
          readings.set(each, { ...whole, block, tiers: i === 0 ? whole.tiers : NOTHING_READ });
        });
      }),
    );
    return readings;
  }
}

/**
 * Lets each of combined reads expect its own series. A query whose budget refuses stops; the other queries continue.
 */
function expectOfAll(all: readonly SourceRead[]): Expect {
  return (home, least) => {
    for (const { expect } of all)
      try {
        expect?.(home, least);
      } catch {
        // The budget has stopped that query's reads and keeps the error.
      }
  };
}
