import type { SourceCatalogue } from '../catalogue/catalogue';
import type { Id } from '../model/id';
import { type Labels, labelsKey, labelValue, METRIC_NAME } from '../model/labels';
import { layoutOf } from '../model/layout';
import { equals, isIn } from '../model/matcher';
import { sourceIdOf } from '../model/placement';
import type { TimeRange } from '../model/selection';
import type { Tenant } from '../tenancy/tenants';
import type { ReadStats } from './read';
import { ReadBudget } from './read-budget';
import type { ReadDependencies } from './read-context';
import type { SourceBlock } from './select';
import { type FoundSource, type ReadOptions, SourceReads } from './source-reads';
import { whereaboutsIn } from './whereabouts';

const UNLIMITED = { series: Infinity, sources: Infinity, samples: Infinity };

/** Series of one source to read. */
export interface SeriesToRead {
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
  { source, series, known }: SeriesToRead,
  range: TimeRange,
  { budget = new ReadBudget(UNLIMITED), ...options }: Partial<Omit<ReadOptions, 'matchers'>> = {},
): Promise<SourceBlock & ReadStats> {
  const found = foundIn(known, sourceIdOf(tenant.id, source), series);
  const names = new Set(series.map((labels) => labelValue(labels, METRIC_NAME)!));
  const matchers = [...source.map(([label, value]) => equals(label, value)), isIn(METRIC_NAME, [...names])];
  budget.takeSeries(series.length, matchers);
  const reads = new SourceReads(dependencies, tenant);
  const [result] = await reads.read([found], range, { budget, matchers, ...options });
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

/** Finds where series of a source are stored. Uses the source's catalogue, which has even the newest series. */
export function foundIn(known: SourceCatalogue, sourceId: Id, series: readonly Labels[]): FoundSource {
  const layout = layoutOf(series);
  const whereabouts = () => whereaboutsIn(known, sourceId, layout);
  return { sourceId, layout, whereabouts, deletions: known.deletions };
}
