import { GRAINS_MS } from '../cold/rollup-span';
import { DAY_MS } from '../model/duration';
import type { TimeRange } from '../model/selection';
import type { RuntimeSettings } from '../platform/settings';
import { PromqlError } from '../promql/errors';
import { instantQuery, type QueryOptions, type QueryRange, rangeQuery } from '../promql/query';
import { grainWithin, type SourceResolution } from '../promql/resolution';
import { limitsOf } from '../tenancy/limits';
import type { Tenant } from '../tenancy/tenants';
import { type IndexView, SelectLimitError, type SelectLimits } from './find-series';
import { FEW_DAYS } from './plan';
import { ReadBudget } from './read-budget';
import { Querier, type SelectDependencies } from './select';
import { promqlErrorOf, TierSamples } from './tier-samples';

/** Maximum number of values in a query's intermediate vectors. 5 million values take 45 MB. */
const MAX_VALUES = 5_000_000;
/** Minimum length of a range that may be read from rollups instead of samples, in ms. */
const LEAST_ROLLED_MS = FEW_DAYS * DAY_MS;
const WIDENING =
  '; more than three days are read from rollups where start, step and ranges are multiples of an hour, ' +
  'and with max_source_resolution=auto everywhere, with ranges widened to hours';

/** A query of a tenant that has begun. */
export interface TenantQuery {
  /** The samples that the query may read. All its reads share the budget. */
  readonly store: TierSamples;
  readonly budget: ReadBudget;
  /**
   * Limits for the evaluation of PromQL. The budget applies the limits on series and samples too, before samples are
   * read. PromQL adds up an expression's selectors itself, because the reads of a rule or monitor each have a budget of
   * their own (promql/shared-reads.ts), and the stores of `ops rules` have none.
   */
  readonly options: Pick<QueryOptions, 'limits' | 'isLate'>;
}

/** What a client may choose for a PromQL query. */
export interface PromqlChoices {
  /** Maximum run time, in ms. The tenant's limit applies if it is lower. */
  readonly timeoutMs?: number | undefined;
  readonly lookbackMs?: number | undefined;
  /** @default 0, which widens no range */
  readonly resolution?: SourceResolution | undefined;
}

/**
 * Runs a tenant's queries, and limits each of them. The API, rules and monitors use it for PromQL; remote read and
 * federation use it to read samples. Queries of one `TenantQueries` that run at the same time share requests.
 *
 * A query of the API also needs a permit (http/metered.ts). Rules and monitors need none, but their time is charged
 * (alerting/invocation.ts).
 */
export class TenantQueries {
  /** Limits of each query. */
  readonly limits: SelectLimits & { readonly seconds: number };
  private readonly querier: Querier;

  constructor(
    private readonly dependencies: SelectDependencies,
    private readonly stage: RuntimeSettings,
    tenant: Tenant,
  ) {
    const { querySeries, querySources, querySamples, querySeconds } = limitsOf(stage, tenant.limits);
    this.limits = {
      series: querySeries,
      sources: querySources,
      samples: querySamples,
      seconds: querySeconds,
    };
    this.querier = new Querier(dependencies, tenant);
  }

  /**
   * Begins a query. Its time starts now.
   *
   * @param timeMs maximum run time, in ms
   * @param advice appended to the error of a query that selects too many samples
   */
  begin(timeMs = 1000 * this.limits.seconds, advice = ''): TenantQuery {
    const { series, samples } = this.limits;
    const startedMs = performance.now();
    const budget = new ReadBudget(this.limits, () => performance.now() - startedMs >= timeMs);
    return {
      store: new TierSamples(this.querier, this.stage.retention, Date.now(), budget, advice),
      budget,
      options: {
        limits: { maxSeries: series, maxSamples: samples, maxValues: MAX_VALUES },
        isLate: budget.isLate,
      },
    };
  }

  /**
   * Evaluates PromQL at one time, or at every step of a range. If samples are missing, the result has a warning.
   *
   * @returns the result, what each selector read, and how long the reads and the whole query took
   * @throws {PromqlError}
   */
  async promql(
    text: string,
    times: number | QueryRange,
    { timeoutMs = Infinity, lookbackMs, resolution = 0 }: PromqlChoices,
  ) {
    const timeMs = Math.min(timeoutMs, 1000 * this.limits.seconds);
    const stepMs = typeof times === 'number' ? undefined : times.stepMs;
    const rollups = this.dependencies.rollups && {
      grainsMs: GRAINS_MS,
      widenedMs: grainWithin(resolution, stepMs, GRAINS_MS),
      leastRangeMs: LEAST_ROLLED_MS,
    };
    const isUnwidened = rollups !== undefined && rollups.widenedMs === undefined;
    const { store, options: limits } = this.begin(timeMs, isUnwidened ? WIDENING : '');
    const options: QueryOptions = {
      ...limits,
      rollups,
      ...(lookbackMs !== undefined && lookbackMs > 0 && { lookbackMs }),
    };
    const startedMs = performance.now();
    const evaluation =
      typeof times === 'number'
        ? instantQuery(store, text, times, options)
        : rangeQuery(store, text, times, options);
    const result = await withTimeout(timeMs, evaluation).catch((error: unknown) => {
      store.stop(error);
      throw error;
    });
    const readMs = store.readUntilMs(startedMs) - startedMs;
    return { result, reads: store.results, readMs, totalMs: performance.now() - startedMs };
  }

  /**
   * Answers from the index without reading samples. If a limit is exceeded, the call fails with the same error as a
   * query.
   */
  async browse<T>(range: TimeRange, read: (view: IndexView, limits: SelectLimits) => T): Promise<T> {
    try {
      return read(await this.querier.view(range, this.begin().budget), this.limits);
    } catch (error) {
      throw error instanceof SelectLimitError ? promqlErrorOf(error) : error;
    }
  }
}

/** Fails with a timeout if `work` takes longer than `ms`, without waiting for `work` to end. */
async function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new PromqlError('timeout', 'query timed out in query execution')), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
