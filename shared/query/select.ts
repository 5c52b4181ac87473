import type { SourceCatalogue } from '../catalogue/catalogue';
import type { Changes } from '../catalogue/change-list';
import type { JoinedLabels } from '../catalogue/shape-columns';
import { seriesOf } from '../catalogue/source-series';
import type { Block } from '../codec';
import type { VersionedDeletion } from '../model/deletion';
import { type Labels, sourceOf } from '../model/labels';
import type { Layout } from '../model/layout';
import { type Matcher, seriesTest } from '../model/matcher';
import { sourceIdOf } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { SharedCalls } from '../platform/concurrency';
import type { SelectOptions } from '../promql/store';
import type { HostLabels } from '../registry/host-labels';
import type { Tenant } from '../tenancy/tenants';
import { DEFAULT_LIMITS, joinedLabels, withJoined } from './find-series';
import { joinStats, type ReadStats } from './read';
import { ReadBudget } from './read-budget';
import { ReadCombiner, type ReadOptions } from './read-combiner';
import type { ReadDependencies } from './read-plan';
import type { Points } from './rolled-points';
import type { CacheableView, SelectionCache } from './selection-cache';
import type { SourceDeletions } from './source-deletions';
import { type FoundSource, foundIn, locationOf } from './source-location';
import type { TenantIndexes } from './tenant-index';

export interface SelectDependencies extends ReadDependencies {
  readonly indexes: Pick<TenantIndexes, 'of'>;
  readonly hostLabels: Pick<HostLabels, 'of'>;
  readonly selections: SelectionCache;
  readonly deletions: SourceDeletions;
}

/** A source's samples. */
export interface SourceBlock {
  /** One column for each series of the layout. */
  readonly block: Pick<Block, 'timestamps' | 'columns'>;
  readonly layout: Pick<Layout, 'series'>;
  /** Labels that the registry adds to each series, for its host. Sorted by name. */
  readonly joined: Labels;
  /** Points from rollups, by column; undefined when there are none. */
  readonly points?: readonly Points[] | undefined;
}

export interface SelectResult extends ReadStats {
  /** One block for each source, with a column for each matching series, even if the series has no samples. */
  readonly blocks: readonly SourceBlock[];
}

/** The sources whose series a selection found, and the labels that the registry adds for their hosts. */
interface Found {
  readonly sources: readonly FoundSource[];
  readonly joined: JoinedLabels;
}

/**
 * One array shared by all reads of sources without deletions: reads are combined only if their lists of deletions are
 * the same object.
 */
const NOTHING_DELETED: readonly VersionedDeletion[] = [];

/**
 * Reads the series of a tenant that satisfy matchers. All read protocols use it. Concurrent selections share requests.
 */
export class Querier {
  private readonly reads: ReadCombiner;
  private readonly changes = new SharedCalls<Changes>();
  private readonly catalogues = new SharedCalls<SourceCatalogue>();

  constructor(
    private readonly dependencies: SelectDependencies,
    private readonly tenant: Tenant,
  ) {
    this.reads = new ReadCombiner(dependencies, tenant);
  }

  /**
   * Reads the series, of any source, that satisfy all matchers.
   *
   * @throws {SelectLimitError}
   * @throws {InvalidPatternError} when a regular expression cannot be used
   * @throws {IncompleteReadError} unless `allowsMissing`
   */
  async select(
    matchers: readonly Matcher[],
    range: TimeRange,
    options: ReadOptions & Pick<SelectOptions, 'admit'> = {},
  ): Promise<SelectResult> {
    const budget = options.budget ?? new ReadBudget(DEFAULT_LIMITS);
    try {
      return await this.selectWithin(budget, matchers, range, options);
    } catch (error) {
      budget.stop(error);
      throw error;
    }
  }

  private async selectWithin(
    budget: ReadBudget,
    matchers: readonly Matcher[],
    range: TimeRange,
    options: ReadOptions & Pick<SelectOptions, 'admit'>,
  ): Promise<SelectResult> {
    const source = hostNamedBy(matchers);
    const { sources, joined } =
      source === undefined
        ? await this.findIndexed(matchers, range, budget)
        : await this.findOf(source, matchers, budget);
    const count = sources.reduce((sum, { layout }) => sum + layout.series.length, 0);
    budget.takeSeries(count, matchers);
    options.admit?.(count);
    const results = await this.reads.read(sources, matchers, range, budget, options);
    return {
      blocks: results.map(({ block, points }, i) => ({
        block,
        layout: sources[i]!.layout,
        joined: joinedLabels(sources[i]!.source, joined),
        points,
      })),
      ...joinStats(results),
    };
  }

  /** Returns the tenant's index for browsing the series in a range: see browse.ts. */
  async view(range: TimeRange, budget: ReadBudget): Promise<CacheableView> {
    const changes = this.listedChanges().then(({ index }) => index);
    // The promise may reject before anyone awaits it; do not let Node report that as unhandled. TenantIndexes awaits it
    // only for periods that it has read before, and reports the failure then.
    changes.catch(() => {});
    const [indexed, joined] = await Promise.all([
      this.dependencies.indexes.of(this.tenant.id, range, changes),
      this.dependencies.hostLabels.of(this.tenant.id),
    ]);
    const token = `${indexed.generation} ${joined.generation}`;
    return { ...indexed, joined, token, spend: (steps) => budget.spend(steps) };
  }

  /**
   * Finds sources with the index. The index shows where the sources' samples are stored, and the list of changes shows
   * which sources have deletions. So no source needs requests of its own, except one that has deletions.
   */
  private async findIndexed(
    matchers: readonly Matcher[],
    range: TimeRange,
    budget: ReadBudget,
  ): Promise<Found> {
    const { tenant } = this;
    const { deletions, selections } = this.dependencies;
    const [view, listed] = await Promise.all([this.view(range, budget), this.listedChanges()]);
    const found = selections.of(tenant.id, view, matchers, budget.limits);
    const ids = found.map(({ sourceId }) => sourceId);
    const deleted = await deletions.of(tenant.id, ids, listed.deletions);
    const sources = found.map(
      ({ source, sourceId, layout, matches }): FoundSource => ({
        source,
        sourceId,
        layout,
        location: () => locationOf(matches, view.firstMs),
        deletions: deleted.get(sourceId) ?? NOTHING_DELETED,
      }),
    );
    return { sources, joined: view.joined };
  }

  /** Finds one source with the catalogue, which includes even its newest series. */
  private async findOf(source: Labels, matchers: readonly Matcher[], budget: ReadBudget): Promise<Found> {
    const { catalogue, hostLabels } = this.dependencies;
    const tenantId = this.tenant.id;
    const sourceId = sourceIdOf(tenantId, source);
    const [joined, known] = await Promise.all([
      hostLabels.of(tenantId),
      this.catalogues.share(sourceId, () => this.reads.limited(() => catalogue.source(tenantId, sourceId))),
    ]);
    const added = joinedLabels(source, joined);
    const isMatch = seriesTest(matchers, (steps) => budget.spend(steps));
    const series = seriesOf(known).filter((labels) => isMatch(withJoined(labels, added)));
    if (series.length === 0) return { sources: [], joined };
    return { sources: [foundIn(known, source, sourceId, series)], joined };
  }

  private listedChanges(): Promise<Changes> {
    return this.changes.share('', () => this.dependencies.catalogue.changes.all(this.tenant.id));
  }
}

/** Returns the source of the host that the matchers name. All series with that `host` label belong to this source. */
function hostNamedBy(matchers: readonly Matcher[]): Labels | undefined {
  const named = matchers.find(({ label, op }) => label === 'host' && op === '=');
  return named?.op === '=' && named.value !== '' ? sourceOf.host(named.value) : undefined;
}
