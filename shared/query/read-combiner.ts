import { mergeLayouts } from '../model/layout';
import { pickSeries } from '../model/layout-block';
import type { Matcher } from '../model/matcher';
import type { RequestedGrains } from '../model/sample-columns';
import type { TimeRange } from '../model/selection';
import { slicesOf } from '../model/slices';
import { anyLimiter, JoinedCalls, type Limiter, limiter } from '../platform/concurrency';
import type { Tenant } from '../tenancy/tenants';
import { joinStats, readSource, type SourceResult } from './read';
import { ExpectedSamples, type ReadBudget } from './read-budget';
import type { ReadDependencies, SourceRequest } from './read-plan';
import { type FoundSource, joinLocations } from './source-location';

/** Maximum number of sources that are read together. Sources of the same partition share requests to memory. */
const MAX_SOURCES = 1_000;
/**
 * Maximum number of concurrent requests to AWS, for all reads of a tenant. A tenant's rules cause hundreds of requests
 * at once. If all were sent together, they would delay each other until they time out.
 */
const PARALLEL_REQUESTS = 32;

const NOTHING_READ = joinStats([]).tiers;

export interface ReadOptions {
  /**
   * Whether to answer even though memory is known to have lost samples. By default, {@link
   * IncompleteReadError} is thrown.
   */
  readonly allowsMissing?: boolean | undefined;
  /** Rollups that may replace the samples of whole days by points. */
  readonly grains?: RequestedGrains | undefined;
  /** Budget shared by all reads of a query. By default, each read has its own. */
  readonly budget?: ReadBudget;
}

/**
 * Reads series of a tenant's sources. Concurrent reads of the same source and range are combined into one read of all
 * their series: a tenant's rules, and the selectors of a query, often need different metrics of the same sources.
 */
export class ReadCombiner {
  private readonly together = new JoinedCalls<readonly SourceRequest[], readonly Promise<SourceResult>[]>();
  /** Limits the number of requests of all reads together. */
  readonly limited: Limiter = limiter(PARALLEL_REQUESTS);

  constructor(
    private readonly dependencies: ReadDependencies,
    private readonly tenant: Tenant,
  ) {}

  /**
   * Reads series of different sources: see {@link readSource}. Combined reads share a result. Only the first of them
   * reports `tiers`, so that a sum over all reads counts each request once.
   *
   * @param matchers the selector that found the series, for errors
   * @throws {SelectLimitError}
   */
  async read(
    sources: readonly FoundSource[],
    matchers: readonly Matcher[],
    range: TimeRange,
    budget: ReadBudget,
    { allowsMissing = false, grains }: Omit<ReadOptions, 'budget'>,
  ): Promise<SourceResult[]> {
    const beyondHot: Limiter = (work) =>
      this.limited(async () => {
        budget.check();
        return work();
      });
    const results: SourceResult[] = [];
    for (const slice of slicesOf(sources, MAX_SOURCES)) {
      budget.check();
      const requests = slice.map(({ sourceId, layout: wanted, location, deletions }): SourceRequest => {
        const expected = [new ExpectedSamples(budget, matchers, wanted)];
        return {
          ...location(),
          sourceId,
          wanted,
          range,
          deletions,
          allowsMissing,
          beyondHot,
          grains,
          expected,
        };
      });
      // Do not combine reads that use rollups: their points are stored by column, and a single series cannot be picked
      // from them.
      const reads =
        grains === undefined
          ? await this.together.add(
              `${range.fromMs} ${range.toMs} ${allowsMissing}`,
              requests,
              async (lists) => this.readLists(lists),
            )
          : requests.map((each) => this.readOne(each));
      results.push(...(await Promise.all(reads)));
    }
    return results;
  }

  private readOne(request: SourceRequest): Promise<SourceResult> {
    return readSource(this.dependencies, this.tenant, request).then((result) => {
      request.expected[0]!.settle(result);
      return result;
    });
  }

  /**
   * Reads several lists of sources over one range. Returns a promise for each source, so a source that fails does not
   * fail the other lists.
   */
  private readLists(lists: readonly (readonly SourceRequest[])[]): Promise<SourceResult>[][] {
    const [only, ...others] = lists as [readonly SourceRequest[]];
    // Nothing to combine: no source occurs twice in a list.
    if (others.length === 0) return [only.map((each) => this.readOne(each))];
    const results = new Map<SourceRequest, Promise<SourceResult>>();
    // Combine only reads that have the same list of the source's deletions.
    for (const own of Map.groupBy(lists.flat(), ({ sourceId }) => sourceId).values())
      for (const same of Map.groupBy(own, ({ deletions }) => deletions).values()) {
        const combined = same.length === 1 ? undefined : this.readCombined(same);
        for (const [i, each] of same.entries()) results.set(each, combined?.[i] ?? this.readOne(each));
      }
    return lists.map((list) => list.map((each) => results.get(each)!));
  }

  /** Combines several reads of a source into one read of all their series. */
  private readCombined(same: readonly SourceRequest[]): Promise<SourceResult>[] {
    const wanted = mergeLayouts(same.map((each) => each.wanted));
    const result = readSource(this.dependencies, this.tenant, {
      ...same[0]!,
      ...joinLocations(same),
      wanted,
      beyondHot: anyLimiter(same.map(({ beyondHot }) => beyondHot)),
      expected: same.flatMap(({ expected }) => expected),
    });
    return same.map(async (each, i) => {
      const { block, tiers, ...whole } = await result.catch((error: unknown) => {
        // If every query has exceeded its budget, the combined read fails with the error of just one query. Throw the
        // error of this query instead.
        each.expected[0]!.budget.check();
        throw error;
      });
      const picked = pickSeries({ block, layout: wanted }, each.wanted)!;
      const own = { ...whole, block: picked, tiers: i === 0 ? tiers : NOTHING_READ };
      each.expected[0]!.settle(own);
      return own;
    });
  }
}
