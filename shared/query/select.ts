import type { SourceCatalogue } from '../catalogue/catalogue';
import type { Changes } from '../catalogue/change-list';
import { type JoinedLabels, NOTHING_JOINED } from '../catalogue/shape-columns';
import { seriesOf } from '../catalogue/source-series';
import { sampleCount } from '../codec';
import type { Units } from '../model/aggregates';
import type { VersionedDeletion } from '../model/deletion';
import type { Id } from '../model/id';
import { type Labels, sourceOf } from '../model/labels';
import { type Layout, layoutOf } from '../model/layout';
import type { LayoutBlock } from '../model/layout-block';
import { type Matcher, seriesTest } from '../model/matcher';
import { sourceIdOf } from '../model/placement';
import type { TimeRange } from '../model/selection';
import { type Limiter, limiter, mapLimited, SharedCalls } from '../platform/concurrency';
import type { HostLabels } from '../registry/host-labels';
import type { Tenant } from '../tenancy/tenants';
import { DEFAULT_LIMITS, joinedTo, type SourceSeries, withJoined } from './find-series';
import { joinTiers, type Reading } from './read';
import { ExpectedSamples, ReadBudget } from './read-budget';
import type { ReadDependencies, ReadSteps } from './read-context';
import type { Selections, VersionedView } from './selections';
import type { SourceDeletions } from './source-deletions';
import { SourceReads } from './source-reads';
import type { TenantIndexes } from './tenant-index';
import { type Whereabouts, whereaboutsIn, whereaboutsOf } from './whereabouts';

export interface SelectDependencies extends ReadDependencies {
  readonly indexes: Pick<TenantIndexes, 'of'>;
  readonly hostLabels: Pick<HostLabels, 'of'>;
  readonly selections: Selections;
  readonly deletions: SourceDeletions;
}

/** The series that matchers select, before any sample is read. */
export interface FoundSeries {
  /** Without joined labels. */
  readonly series: readonly Labels[];
  /** None of their samples in the range bears an earlier time, ms; Infinity when no source has posted. */
  readonly firstMs: number;
}

export interface SelectHints {
  /** Whether to answer although memory is known to have lost samples. Default: {@link IncompleteReadError}. */
  readonly allowsMissing?: boolean;
  /** Called before any sample is read; refuses the read by throwing. */
  readonly check?: (found: FoundSeries) => void | Promise<void>;
  /** Looks at this source alone, whose series may be a second old. Labels of the registry are neither matched nor joined. */
  readonly source?: Labels;
  /** The answer is wanted in these steps: days may come from rollups, see {@link SourceBlock.rolled}. */
  readonly steps?: ReadSteps | undefined;
  /** What all reads of a query share. @default DEFAULT_LIMITS for this read alone */
  readonly budget?: ReadBudget;
}

/** A source's samples. */
export interface SourceBlock extends LayoutBlock {
  /** Labels that each series has beside those of the layout: the registry's of its host. Sorted by name. */
  readonly joined: Labels;
  /** For each column of the layout the units that rollups gave; undefined when there are none. */
  readonly rolled?: readonly Units[] | undefined;
}

export interface Selected extends Pick<Reading, 'missingSinceMs'> {
  /** One block for each source, with a column for each of its series that match, samples or none. */
  readonly blocks: readonly SourceBlock[];
  /** Undefined when no series matched, so that no tier was read. */
  readonly tiers: Reading['tiers'] | undefined;
  /** Days that came from rollups, of all sources. */
  readonly rolledDays: number;
}

/** A source with the series that match. */
interface FoundSource extends Pick<SourceSeries, 'source' | 'series'> {
  readonly sourceId: Id;
  /** The layout of `series`. */
  readonly layout: Layout;
  readonly whereabouts: () => Whereabouts;
  readonly deletions: readonly VersionedDeletion[];
}

/** The sources that were found, and the labels that the registry adds by host. */
interface Found {
  readonly sources: readonly FoundSource[];
  readonly joined: JoinedLabels;
  /** See {@link FoundSeries}. */
  readonly firstMs: number;
}

/** One array, by which reads of a source see that they know the same deletions. */
const NOTHING_DELETED: readonly VersionedDeletion[] = [];

/** Sources read at a time. Those of a partition share their requests of memory. */
const PARALLEL = 1_000;
/**
 * Requests to AWS at a time, of all selections that begin together. A tenant's rules begin hundreds: sent at once, their requests would
 * wait for each other until they time out.
 */
const PARALLEL_REQUESTS = 32;

/**
 * Reads a tenant's series by matchers: the port for every protocol that reads. Selections that begin together share the requests that they
 * have in common.
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
   * Reads the series that satisfy all matchers, of whatever sources.
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
    const beyondMemory: Limiter = (work) =>
      this.limited(async () => {
        budget.check();
        return work();
      });
    const readings = await mapLimited(
      sources,
      PARALLEL,
      async ({ source, sourceId, layout, whereabouts, deletions }) => {
        budget.check();
        const { steps } = hints;
        const expected = new ExpectedSamples(budget, matchers);
        // A read in steps without a query's budget aggregates days one by one, and holds few samples at a time.
        const expect = hints.budget && ((home: Id, count: number) => expected.expect(home, count));
        const asked = { wanted: layout, range, deletions, beyondMemory, steps, expect, ...whereabouts() };
        const reading = await this.reads.read(sourceId, asked, hints.allowsMissing);
        expected.take(sampleCount(reading.block));
        return { layout, reading, joined: joinedTo(source, joined) };
      },
    );
    if (readings.length === 0)
      return { blocks: [], tiers: undefined, missingSinceMs: undefined, rolledDays: 0 };
    const missing = readings.flatMap(({ reading: { missingSinceMs } }) => missingSinceMs ?? []);
    return {
      blocks: readings.map(({ reading: { block, rolled }, layout, joined }) => ({
        block,
        layout,
        joined,
        rolled: rolled?.series,
      })),
      rolledDays: readings.reduce((sum, { reading: { rolled } }) => sum + (rolled?.days ?? 0), 0),
      tiers: joinTiers(readings.map(({ reading: { tiers } }) => tiers)),
      missingSinceMs: missing.length === 0 ? undefined : Math.min(...missing),
    };
  }

  /** The tenant's index, to browse series of a range by: see browse.ts. */
  async view(range: TimeRange, budget: ReadBudget): Promise<VersionedView> {
    const changes = this.listedChanges().then(({ index }) => index);
    // TenantIndexes awaits it only for periods that it has read before.
    changes.catch(() => {});
    const [indexed, joined] = await Promise.all([
      this.dependencies.indexes.of(this.tenant.id, range, changes),
      this.dependencies.hostLabels.of(this.tenant.id),
    ]);
    const version = `${indexed.version} ${joined.version}`;
    return { ...indexed, joined, version, spend: (steps) => budget.spend(steps) };
  }

  /**
   * Finds sources by the index. The index and the list of changes tell where their samples lie and which have deletions, without a request
   * for each source.
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
      ({ source, series, layout, sourceId, matches }): FoundSource => ({
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

  /** Finds one source by its catalogue, which knows its newest series. */
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

/** All series that have a host lie with it. */
function hostNamedBy(matchers: readonly Matcher[]): Labels | undefined {
  const named = matchers.find(({ label, op }) => label === 'host' && op === '=');
  return named?.op === '=' && named.value !== '' ? sourceOf.host(named.value) : undefined;
}
