import type { Matcher } from '../model/matcher';
import type { RequestedGrains } from '../model/sample-columns';
import type { TimeRange } from '../model/selection';
import { PromqlError } from '../promql/errors';
import type { SampleStore, SelectedSamples, SelectOptions } from '../promql/store';
import type { LimitName } from '../tenancy/limits';
import { SelectLimitError, type SelectLimits } from './find-series';
import { IncompleteReadError } from './incomplete';
import { clampRange } from './plan';
import { sampleColumnsOf } from './point-joiner';
import type { ReadStats } from './read';
import type { ReadBudget } from './read-budget';
import type { Querier } from './select';

/** The result of one selector's read. */
export interface SelectorResult extends ReadStats {
  readonly matchers: readonly Matcher[];
  readonly range: TimeRange;
  readonly grains: RequestedGrains | undefined;
  /** The reason why rollups or samples were read. */
  readonly why: string;
  readonly series: number;
}

/** Gives PromQL access to the samples of all tiers. */
export class TierSamples implements SampleStore {
  /** One result for each selector that found series. */
  readonly results: SelectorResult[] = [];

  constructor(
    private readonly querier: Pick<Querier, 'select'>,
    private readonly retentionMs: number,
    private readonly nowMs: number,
    private budget: ReadBudget,
    /** Text appended to the error message of a query that reads too many samples. It begins with a semicolon. */
    private readonly advice = '',
  ) {}

  private lastReadMs = 0;

  /**
   * Returns when the last read ended, or `startedMs` if nothing was read. Both times come from `performance`, in ms.
   */
  readUntilMs(startedMs: number): number {
    return Math.max(startedMs, this.lastReadMs);
  }

  /** Stops all reads. */
  stop(reason: unknown): void {
    this.budget.stop(reason);
  }

  /**
   * Stops the selections that are still being read, and resets the counts of series and samples to 0 for later
   * selections. The query's deadline stays the same.
   */
  release(): void {
    this.budget.stop(new Error('the query no longer needs these samples'));
    this.budget = this.budget.renewed();
  }

  async select(
    matchers: readonly Matcher[],
    range: TimeRange,
    { grains, why = '', admit }: SelectOptions = {},
  ): Promise<SelectedSamples> {
    try {
      const readable = clampRange(range, this.nowMs, this.retentionMs);
      if (readable.fromMs >= readable.toMs) return { series: [], warnings: [] };
      const options = { allowsMissing: true, budget: this.budget, grains, admit };
      const { blocks, ...stats } = await this.querier.select(matchers, readable, options);
      const { missingSinceMs } = stats;
      if (blocks.length > 0) {
        const series = blocks.reduce((sum, { layout }) => sum + layout.series.length, 0);
        this.results.push({ matchers, range: readable, grains, why, series, ...stats });
      }
      return {
        series: blocks
          .flatMap((block) => sampleColumnsOf(block, grains))
          .filter(({ timestamps }) => timestamps.length > 0),
        // Add a warning: a partial response must say what is missing.
        warnings: missingSinceMs === undefined ? [] : [new IncompleteReadError(missingSinceMs).message],
      };
    } catch (error) {
      throw error instanceof SelectLimitError ? promqlErrorOf(error, this.advice) : error;
    } finally {
      this.lastReadMs = performance.now();
    }
  }
}

/** Converts the error to a PromQL error. The message says what was exceeded, and which limit applies. */
export function promqlErrorOf({ limit, message }: SelectLimitError, advice = ''): PromqlError {
  if (limit === 'time') return new PromqlError('timeout', message);
  const text = limit === 'memory' ? message : `${message} (the tenant's limit ${LIMIT_OF[limit]})`;
  return new PromqlError('execution', limit === 'samples' ? `${text}${advice}` : text);
}

const LIMIT_OF: Readonly<Record<keyof SelectLimits, LimitName>> = {
  series: 'querySeries',
  sources: 'querySources',
  samples: 'querySamples',
};
