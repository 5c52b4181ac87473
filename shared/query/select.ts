import type { SourceCatalogue } from '../catalogue/catalogue';
import type { Changes } from '../catalogue/change-list';
import { type JoinedLabels, NOTHING_JOINED } from '../catalogue/shape-columns';
import { seriesOf } from '../catalogue/source-series';
import { sampleCount } from '../codec';
import type { VersionedDeletion } from '../model/deletion';
import type { Id } from '../model/id';
import { type Labels, sourceOf } from '../model/labels';
import { type Layout, layoutOf } from '../model/layout';
import type { LayoutBlock } from '../model/layout-block';
import { type Matcher, seriesTest } from '../model/matcher';
import { sourceIdOf } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { type Limiter, limiter, mapLimited, SharedCalls } from '../platform/concurrency';
import type { AskedGrains } from '../promql/store';
import type { HostLabels } from '../registry/host-labels';
import type { Tenant } from '../tenancy/tenants';
import { DEFAULT_LIMITS, joinedTo, type SourceSeries, withJoined } from './find-series';
import { earliestMissing, joinTiers, mostRounds, type Reading } from './read';
import { ExpectedSamples, ReadBudget } from './read-budget';
import type { ReadDependencies, SourceRead } from './read-context';
import type { Points } from './rolled-points';
import type { SelectionCache, VersionedView } from './selection-cache';
import type { SourceDeletions } from './source-deletions';
import { SourceReads } from './source-reads';
import type { TenantIndexes } from './tenant-index';
import { type Whereabouts, whereaboutsIn, whereaboutsOf } from './whereabouts';

export interface SelectDependencies extends ReadDependencies {
  readonly indexes: Pick<TenantIndexes, 'of'>;
  readonly hostLabels: Pick<HostLabels, 'of'>;
  readonly selections: SelectionCache;
  readonly deletions: SourceDeletions;
}

/** The series that matchers select, found before samples are read. */
export interface FoundSeries {
  /** Labels of the series, without those that the registry adds. */
  readonly series: readonly Labels[];
  /** Lower bound of their samples' times in the range, ms; Infinity when no source has posted. */
  readonly firstMs: number;
}

export interface SelectHints {
  /**
   * Whether to answer even though memory is known to have lost samples. By default, {@link
   * IncompleteReadError} is thrown.
   */
  readonly allowsMissing?: boolean;
  /** Called before samples are read. It may throw to refuse the read. */
  readonly check?: (found: FoundSeries) => void | Promise<void>;
  /**
   * Considers only this source, and finds even its newest series. Labels of the registry are neither matched
   * nor added.
   */
  readonly source?: Labels;
  /** Rollups from which days may come as points: see {@link SourceBlock.points}. */
  readonly grains?: AskedGrains | undefined;
  /** Budget shared by all reads of a query. @default DEFAULT_LIMITS for this read alone */
  readonly budget?: ReadBudget;
}

/** A source's samples. */
export interface SourceBlock extends LayoutBlock {
  /** Labels that the registry adds to each series, for its host. Sorted by name. */
  readonly joined: Labels;
  /** Points of each column that came from rollups; undefined when there are none. */
  readonly points?: readonly Points[] | undefined;
}

export interface Selected extends Pick<Reading, 'missingSinceMs' | 'rounds'> {
  /** One block for each source, with a column for each of its matching series, even without samples. */
  readonly blocks: readonly SourceBlock[];
  /** Undefined when no series matched, so that no tier was read. */
  readonly tiers: Reading['tiers'] | undefined;
  /** Number of days that came from rollups, added up over all sources. */
  readonly rolledDays: number;
}

interface MatchedSource extends Pick<SourceSeries, 'source' | 'series'> {
  readonly sourceId: Id;
  /** The layout of `series`. */
  readonly layout: Layout;
  readonly whereabouts: () => Whereabouts;
  readonly deletions: readonly VersionedDeletion[];
}

/** The sources that were found, and the labels that the registry adds for their hosts. */
interface Found {
  readonly sources: readonly MatchedSource[];
  readonly joined: JoinedLabels;
  /** See {@link FoundSeries}. */
  readonly firstMs: number;
}

/** A single array, so that reads of a source can compare their deletions by identity. */
const NOTHING_DELETED: readonly VersionedDeletion[] = [];

/** Maximum number of sources that are read together. Those of the same partition share requests to memory. */
const PARALLEL = 1_000;
/**
 * Most requests to AWS at a time, for all selections of a querier. A tenant's rules start hundreds at once:
 * all sent together, they would delay each other until they time out.
 */
const PARALLEL_REQUESTS = 32;

/**
 * Reads a tenant's series by matchers. Every protocol that reads uses it. Concurrent selections share their
 * common requests.
 */
export class Querier {
  private readonly reads: SourceReads;
  private readonly changes = new SharedCalls<Changes>();
  private readonly catalogues = new SharedCalls<SourceCatalogue>();
  private readonly limited = limiter(PARALLEL_REQUESTS);

  constructor(
    private readonly dependencies: SelectDependencies,
    private readonly tenant: Tenant,
  ) {
    this.reads = new SourceReads(dependencies, tenant);
  }

  /**
   * Reads the series of any source that satisfy all matchers.
   *
   * @throws {SelectLimitError}
   * @throws {InvalidPatternError} when a regular expression cannot be used
   * @throws {IncompleteReadError} unless `allowsMissing`
   */
  async select(matchers: readonly Matcher[], range: TimeRange, hints: SelectHints = {}): Promise<Selected> {
    const budget = hints.budget ?? new ReadBudget(DEFAULT_LIMITS);
    try {
      return await this.selectWithin(budget, matchers, range, hints);
    } catch (error) {
      budget.stop(error);
      throw error;
    }
  }

  private async selectWithin(
    budget: ReadBudget,
    matchers: readonly Matcher[],
    range: TimeRange,
    hints: SelectHints,
  ): Promise<Selected> {
    const source = hints.source ?? hostNamedBy(matchers);
    const { sources, joined, firstMs } =
      source === undefined
        ? await this.findIndexed(matchers, range, budget)
        : await this.findOf(source, matchers, hints, budget);
    budget.takeSeries(
      sources.reduce((sum, { series }) => sum + series.length, 0),
      matchers,
    );
    await hints.check?.({ series: sources.flatMap(({ series }) => series), firstMs });
    const beyondHot: Limiter = (work) =>
      this.limited(async () => {
        budget.check();
        return work();
      });
    const { grains } = hints;
    const readings = await mapLimited(
      sources,
      PARALLEL,
      async ({ sourceId, layout, whereabouts, deletions }) => {
        budget.check();
        const expected = new ExpectedSamples(budget, matchers);
        const expect: SourceRead['expect'] = (home, least) => expected.expect(home, least(layout));
        const asked = {
          ...whereabouts(),
          wanted: layout,
          range,
          deletions,
          beyondHot,
          grains,
          expect,
        };
        const reading = await this.reads.read(sourceId, asked, hints.allowsMissing);
        expected.take(samplesIn(reading));
        return reading;
      },
    );
    if (readings.length === 0)
      return { blocks: [], tiers: undefined, missingSinceMs: undefined, rolledDays: 0, rounds: 0 };
    return {
      blocks: readings.map(({ block, points }, i) => ({
        block,
        layout: sources[i]!.layout,
        joined: joinedTo(sources[i]!.source, joined),
        points: points?.series,
      })),
      rolledDays: readings.reduce((sum, { points }) => sum + (points?.days ?? 0), 0),
      tiers: joinTiers(readings.map(({ tiers }) => tiers)),
      rounds: mostRounds(readings),
      missingSinceMs: earliestMissing(readings),
    };
  }

  /** Returns the tenant's index for browsing the series in a range: see browse.ts. */
  async view(range: TimeRange, budget: ReadBudget): Promise<VersionedView> {
    const changes = this.listedChanges().then(({ index }) => index);
    // Ignore a failure here: TenantIndexes awaits this only for periods that it has read before, and reports
    // the failure then.
    changes.catch(() => {});
    const [indexed, joined] = await Promise.all([
      this.dependencies.indexes.of(this.tenant.id, range, changes),
      this.dependencies.hostLabels.of(this.tenant.id),
    ]);
    const version = `${indexed.version} ${joined.version}`;
    return { ...indexed, joined, version, spend: (steps) => budget.spend(steps) };
  }

  /**
   * Finds sources with the index. The index and the list of changes tell where their samples are and which
   * sources have deletions, without a request for each source.
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
      ({ source, series, layout, sourceId, matches }): MatchedSource => ({
        source,
        series,
        layout,
        sourceId,
        whereabouts: () => whereaboutsOf(matches, view.firstMs),
        deletions: deleted.get(sourceId) ?? NOTHING_DELETED,
      }),
    );
    return { sources, joined: view.joined, firstMs: found.length === 0 ? Infinity : range.fromMs };
  }

  /** Finds one source with the catalogue, which has its newest series. */
  private async findOf(
    source: Labels,
    matchers: readonly Matcher[],
    hints: SelectHints,
    budget: ReadBudget,
  ): Promise<Found> {
    const { catalogue, hostLabels } = this.dependencies;
    const tenantId = this.tenant.id;
    const sourceId = sourceIdOf(tenantId, source);
    const [joined, known] = await Promise.all([
      hints.source === undefined ? hostLabels.of(tenantId) : NOTHING_JOINED,
      this.catalogues.ask(sourceId, () => this.limited(() => catalogue.source(tenantId, sourceId))),
    ]);
    const added = joinedTo(source, joined);
    const isMatch = seriesTest(matchers, (steps) => budget.spend(steps));
    const series = seriesOf(known).filter((labels) => isMatch(withJoined(labels, added)));
    const { deletions, firstMs } = known;
    if (series.length === 0) return { sources: [], joined, firstMs };
    const layout = layoutOf(series);
    const whereabouts = () => whereaboutsIn(known, sourceId, layout);
    return { sources: [{ source, sourceId, series, layout, whereabouts, deletions }], joined, firstMs };
  }

  private listedChanges(): Promise<Changes> {
    return this.changes.ask('', () => this.dependencies.catalogue.changes.all(this.tenant.id));
  }
}

/** Returns the number of samples of a reading, and of points that replace samples. */
function samplesIn({ block, points }: Reading): number {
  let count = sampleCount(block);
  for (const { timestamps } of points?.series ?? []) count += timestamps.length;
  return count;
}

/** Returns the host that the matchers name. All series with a `host` label belong to that host's source. */
function hostNamedBy(matchers: readonly Matcher[]): Labels | undefined {
  const named = matchers.find(({ label, op }) => label === 'host' && op === '=');
  return named?.op === '=' && named.value !== '' ? sourceOf.host(named.value) : undefined;
}
