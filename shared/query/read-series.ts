import type { SourceCatalogue } from '../catalogue/catalogue';
import { type Labels, labelsKey, labelValue, METRIC_NAME } from '../model/labels';
import { equals, isIn } from '../model/matcher';
import { sourceIdOf } from '../model/placement';
import type { TimeRange } from '../model/selection';
import type { Tenant } from '../tenancy/tenants';
import type { ReadStats } from './read';
import { ReadBudget } from './read-budget';
import { ReadCombiner, type ReadOptions } from './read-combiner';
import type { ReadDependencies } from './read-plan';
import type { SourceBlock } from './select';
import { foundIn } from './source-location';

const UNLIMITED = { series: Infinity, sources: Infinity, samples: Infinity };

/** A request to read series of one source. */
export interface SeriesRequest {
  readonly source: Labels;
  readonly series: readonly Labels[];
  /** The source's catalogue. Series that it lacks have no samples. */
  readonly known: SourceCatalogue;
}

/**
 * Reads series of one source from all tiers.
 *
 * @param options without a budget, the number of samples is not limited
 * @returns the series in the order in which they were requested
 * @throws {IncompleteReadError | SelectLimitError}
 */
export async function readSeries(
  dependencies: ReadDependencies,
  tenant: Tenant,
  { source, series, known }: SeriesRequest,
  range: TimeRange,
  { budget = new ReadBudget(UNLIMITED), ...options }: ReadOptions = {},
): Promise<SourceBlock & ReadStats> {
  const found = foundIn(known, source, sourceIdOf(tenant.id, source), series);
  const names = new Set(series.map((labels) => labelValue(labels, METRIC_NAME)!));
  const matchers = [...source.map(([label, value]) => equals(label, value)), isIn(METRIC_NAME, [...names])];
  budget.takeSeries(series.length, matchers);
  const reads = new ReadCombiner(dependencies, tenant);
  const [result] = await reads.read([found], matchers, range, budget, options);
  const { block, points, ...stats } = result!;
  const positions = series.map((labels) => found.layout.columns.get(labelsKey(labels))!);
  return {
    ...stats,
    block: { timestamps: block.timestamps, columns: positions.map((position) => block.columns[position]!) },
    layout: { series },
    joined: [],
    points: points && positions.map((position) => points[position]!),
  };
}
