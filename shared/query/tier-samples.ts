import type { Matcher } from '../model/matcher';
import type { TimeRange } from '../model/selection';
import { PromqlError } from '../promql/errors';
import type { SampleColumns, SampleStore, SelectedSamples } from '../promql/store';
import type { LimitName } from '../tenancy/limits';
import { SelectLimitError, type SelectLimits, withJoined } from './find-series';
import { IncompleteReadError } from './incomplete';
import { clampRange } from './plan';
import type { ReadBudget } from './read-budget';
import type { Querier, Selected, SourceBlock } from './select';

/** Gives PromQL access to the samples of all tiers. */
export class TierSamples implements SampleStore {
  /** The reading of each selector. */
  readonly readings: { readonly tiers: NonNullable<Selected['tiers']>; readonly range: TimeRange }[] = [];

  constructor(
    private readonly querier: Pick<Querier, 'select'>,
    private readonly retentionMs: number,
    private readonly nowMs: number,
    private readonly budget: ReadBudget,
  ) {}

  private lastReadMs = 0;

  /** Returns when the last read ended, or `startedMs` if nothing was read, both by `performance`'s clock. */
  readUntilMs(startedMs: number): number {
    return Math.max(startedMs, this.lastReadMs);
  }

  async select(matchers: readonly Matcher[], range: TimeRange): Promise<SelectedSamples> {
    try {
      return await this.selectWithin(matchers, range);
    } finally {
      this.lastReadMs = performance.now();
    }
  }

  private async selectWithin(matchers: readonly Matcher[], range: TimeRange): Promise<SelectedSamples> {
    const readable = clampRange(range, this.nowMs, this.retentionMs);
    if (readable.fromMs >= readable.toMs) return { series: [], warnings: [] };
    try {
      const { blocks, tiers, missingSinceMs } = await this.querier.select(matchers, readable, {
        allowsMissing: true,
        budget: this.budget,
      });
      if (tiers !== undefined) this.readings.push({ tiers, range: readable });
      return {
        series: blocks.flatMap(columnsOf),
        // Add a warning: a partial answer must say what is missing.
        warnings: missingSinceMs === undefined ? [] : [new IncompleteReadError(missingSinceMs).message],
      };
    } catch (error) {
      if (error instanceof SelectLimitError) throw promqlErrorOf(error);
      throw error;
    }
  }
}

/** Converts the error to PromQL's. The message tells what was exceeded, and which limit applies. */
export function promqlErrorOf({ limit, message }: SelectLimitError): PromqlError {
  if (limit === 'time') return new PromqlError('timeout', message);
  const text = limit === 'memory' ? message : `${message} (the tenant's limit ${LIMIT_OF[limit]})`;
  return new PromqlError('execution', text);
}

const LIMIT_OF: Readonly<Record<keyof SelectLimits, LimitName>> = {
  series: 'querySeries',
  sources: 'querySources',
  samples: 'querySamples',
};

function columnsOf({ block, layout, joined }: SourceBlock): SampleColumns[] {
  const { timestamps, columns } = block;
  const series: SampleColumns[] = [];
  let column = 0;
  for (const labels of layout.series) {
    const { rows, values } = columns[column++]!;
    if (values.length === 0) continue;
    series.push({
      labels: withJoined(labels, joined),
      timestamps: rows === undefined ? timestamps : Float64Array.from(rows, (row) => timestamps[row]!),
      values,
    });
  }
  return series;
}
