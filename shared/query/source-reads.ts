import type { Id } from '../model/id';
import { mergeLayouts } from '../model/layout';
import { pickSeries } from '../model/layout-block';
import { anyLimiter, Batches } from '../platform/concurrency';
import type { Tenant } from '../tenancy/tenants';
import { type Reading, readSource } from './read';
import type { Expect, ReadDependencies, SourceRead } from './read-context';
import { joinWhereabouts } from './whereabouts';

const NOTHING_READ: Reading['tiers'] = {
  hot: { durationMs: 0, samples: 0, places: [] },
  warm: { durationMs: 0, samples: 0, places: [] },
  cold: { durationMs: 0, samples: 0, places: [] },
};

/** A read of a source's series. */
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
   * Reads series of a source: see {@link readSource}. Combined reads share a result. Only the first one's `tiers`
   * has figures, so that sums count them once.
   */
  async read(sourceId: Id, asked: SourceRead, allowsMissing = false): Promise<Reading> {
    const { grains, range } = asked;
    // Do not combine reads of rollups: their points are by column, and cannot be picked by series.
    if (grains !== undefined) return this.readOne(asked, allowsMissing);
    const key = `${range.fromMs} ${range.toMs} ${allowsMissing}`;
    return this.together.add(key, { sourceId, asked }, async (all) => this.readAll(all, allowsMissing));
  }

  private readOne(asked: SourceRead, allowsMissing: boolean): Promise<Reading> {
    return readSource(this.dependencies, this.tenant, asked, allowsMissing);
  }

  /** Reads sources over one range. Returns a promise for each source, so that one that fails does not fail the others. */
  private readAll(all: readonly AskedSource[], allowsMissing: boolean): Promise<Reading>[] {
    const bySource = Map.groupBy(all, ({ sourceId }) => sourceId);
    // Nearly always each source is requested once.
    if (bySource.size === all.length) return all.map(({ asked }) => this.readOne(asked, allowsMissing));
    const readings = new Map<SourceRead, Promise<Reading>>();
    // Combine only reads that know the same deletions of the source.
    for (const own of bySource.values())
      for (const same of Map.groupBy(own, ({ asked }) => asked.deletions).values()) {
        const combined = this.readCombined(
          same.map(({ asked }) => asked),
          allowsMissing,
        );
        for (const [i, { asked }] of same.entries()) readings.set(asked, combined[i]!);
      }
    return all.map(({ asked }) => readings.get(asked)!);
  }

  /** Reads the series of several reads of a source by one. */
  private readCombined(same: readonly SourceRead[], allowsMissing: boolean): Promise<Reading>[] {
    const merged = mergedRead(same);
    const reading = this.readOne(merged, allowsMissing);
    return same.map(async ({ wanted }, i) => {
      const { block, tiers, ...whole } = await reading;
      const picked = pickSeries({ block, layout: merged.wanted }, wanted)!;
      return { ...whole, block: picked, tiers: i === 0 ? tiers : NOTHING_READ };
    });
  }
}

/** Returns a read of the series of several reads of one source. */
function mergedRead(same: readonly SourceRead[]): SourceRead {
  const [first] = same as [SourceRead];
  if (same.length === 1) return first;
  return {
    ...first,
    ...joinWhereabouts(same),
    wanted: mergeLayouts(same.map(({ wanted }) => wanted)),
    beyondHot: anyLimiter(same.map(({ beyondHot }) => beyondHot)),
    expect: expectOfAll(same),
  };
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
