import { sampleCount } from '../codec';
import type { Id } from '../model/id';
import { mergeLayouts } from '../model/layout';
import { pickSeries } from '../model/layout-block';
import { anyLimiter, attempt, Batches, type Later, ready } from '../platform/concurrency';
import type { Tenant } from '../tenancy/tenants';
import { type Reading, readLayouts } from './read';
import type { Expect, ReadDependencies, SourceRead } from './read-context';
import { joinWhereabouts } from './whereabouts';

const NOTHING_READ: Reading['tiers'] = {
  hot: { durationMs: 0, samples: 0, places: [] },
  warm: { durationMs: 0, samples: 0, places: [] },
  cold: { durationMs: 0, samples: 0, places: [] },
};

/** A read of a source's series. */
export interface AskedSource {
  readonly sourceId: Id;
  readonly asked: SourceRead;
}

/**
 * Reads series of a tenant's sources. Concurrent reads of the same source and range are combined into one
 * read of all their series: a tenant's rules, and the selectors of a query, often want different metrics of
 * the same sources.
 */
export class SourceReads {
  private readonly together = new Batches<readonly AskedSource[], Promise<Later<Reading>[]>>();

  constructor(
    private readonly dependencies: ReadDependencies,
    private readonly tenant: Tenant,
  ) {}

  /**
   * Reads series of distinct sources, all of one range: see {@link readLayouts}. Combined reads share a result.
   * Only the first one's `tiers` has figures, so that sums count them once.
   */
  async read(all: readonly AskedSource[], allowsMissing = false): Promise<Later<Reading>[]> {
    const [first] = all;
    if (first === undefined) return [];
    const { steps, grains, range } = first.asked;
    // Do not combine reads of rollups: their grains and points are by column, and cannot be picked by series.
    if (steps !== undefined || grains !== undefined) return this.readApart(all, allowsMissing);
    const key = `${range.fromMs} ${range.toMs} ${allowsMissing}`;
    return this.together.add(key, all, async (lists) => this.readLists(lists, allowsMissing));
  }

  private readApart(all: readonly AskedSource[], allowsMissing: boolean): Promise<Later<Reading>[]> {
    const asked = all.map((each) => each.asked);
    return readLayouts(this.dependencies, this.tenant, asked, allowsMissing);
  }

  /** Reads sources of one range. Each list's result is a promise of its own, so that it fails alone. */
  private readLists(
    lists: readonly (readonly AskedSource[])[],
    allowsMissing: boolean,
  ): Promise<Later<Reading>[]>[] {
    if (lists.length === 1) return [this.readApart(lists[0]!, allowsMissing)];
    const bySource = Map.groupBy(lists.flat(), ({ sourceId }) => sourceId);
    const isShared = ({ sourceId }: AskedSource) => bySource.get(sourceId)!.length > 1;
    const shared = [...bySource.values()].filter((own) => own.length > 1);
    // Nearly always each source is requested once.
    if (shared.length === 0) return lists.map((list) => this.readApart(list, allowsMissing));
    const combining = this.readCombined(shared, allowsMissing);
    return lists.map(async (list) => {
      const alone = list.filter((each) => !isShared(each));
      const [own, combined] = await Promise.all([
        this.readApart(alone, allowsMissing),
        alone.length === list.length ? undefined : combining,
      ]);
      let at = 0;
      return list.map((each) => combined?.get(each.asked) ?? own[at++]!);
    });
  }

  /**
   * Reads the series of combined requests, those for a source together. Only requests with the same deletions of
   * the source are combined.
   */
  private async readCombined(
    bySource: readonly (readonly AskedSource[])[],
    allowsMissing: boolean,
  ): Promise<Map<SourceRead, Later<Reading>>> {
    const all = bySource.flatMap((own) => [
      ...Map.groupBy(
        own.map(({ asked }) => asked),
        ({ deletions }) => deletions,
      ).values(),
    ]);
    const merged = all.map(mergedRead);
    const wholes = await readLayouts(this.dependencies, this.tenant, merged, allowsMissing);
    const readings = new Map<SourceRead, Later<Reading>>();
    wholes.forEach((whole, i) => {
      const { wanted: layout } = merged[i]!;
      all[i]!.forEach((each, place) => {
        const pick = (reading: Reading) => {
          const block = pickSeries({ block: reading.block, layout }, each.wanted)!;
          each.taken?.(sampleCount(block));
          return { ...reading, block, tiers: place === 0 ? reading.tiers : NOTHING_READ };
        };
        readings.set(
          each,
          attempt(() => ready(whole, pick)),
        );
      });
    });
    return readings;
  }
}

/** Returns a read of the series of several reads of one source. */
function mergedRead(same: readonly SourceRead[]): SourceRead {
  const [first] = same as [SourceRead];
  const isOne = same.length === 1;
  return {
    ...first,
    ...(isOne ? first : joinWhereabouts(same)),
    wanted: mergeLayouts(same.map(({ wanted }) => wanted)),
    beyondMemory: anyLimiter(same.flatMap(({ beyondMemory = [] }) => beyondMemory)),
    expect: isOne ? first.expect : expectOfAll(same),
    check: undefined,
    taken: undefined,
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
