import type { Matcher } from '../../shared/model/matcher';
import type { TimeRange } from '../../shared/model/selection';
import { PromqlError } from '../../shared/promql/errors';
import type { SampleColumns, SampleStore, SelectedSamples } from '../../shared/promql/store';
import { SelectLimitError, withJoined } from '../../shared/query/find-series';
import { IncompleteReadError } from '../../shared/query/incomplete';
import { clampRange } from '../../shared/query/plan';
import type { Querier, SourceBlock } from '../../shared/query/select';

/** What one selector may read. */
export const SELECT_LIMITS = { series: 50_000, sources: 10_000, samples: 10_000_000 };

/** Gives PromQL the samples of all tiers. */
export class TierSamples implements SampleStore {
  constructor(
    private readonly querier: Pick<Querier, 'select'>,
    private readonly retentionMs: number,
    private readonly nowMs: number,
  ) {}

  async select(matchers: readonly Matcher[], range: TimeRange): Promise<SelectedSamples> {
    const readable = clampRange(range, this.nowMs, this.retentionMs);
    if (readable.fromMs >= readable.toMs) return { series: [], warnings: [] };
    try {
      const { blocks, missingSinceMs } = await this.querier.select(matchers, readable, {
        allowsMissing: true,
        limits: SELECT_LIMITS,
      });
      return {
        series: blocks.flatMap(columnsOf),
        // Never silently partial: the answer says what is missing.
        warnings: missingSinceMs === undefined ? [] : [new IncompleteReadError(missingSinceMs).message],
      };
    } catch (error) {
      if (error instanceof SelectLimitError) throw new PromqlError('execution', error.message);
      throw error;
    }
  }
}

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
