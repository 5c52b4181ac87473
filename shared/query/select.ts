import type { SourceCatalogue } from '../catalogue/catalogue';
import type { Changes } from '../catalogue/change-list';
import { type JoinedLabels, NOTHING_JOINED } from '../catalogue/shape-columns';
import { seriesOf } from '../catalogue/source-series';
import { sampleCount } from '../codec';
import type { Units } from '../model/aggregates';
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
import { ReadBudget } from './read-budget';
import type { ReadDependencies, ReadSteps } from './read-context';
import type { VersionedView } from './selections';
import type { SourceMemo } from './source-memo';
import { SourceReads } from './source-reads';
import type { TenantIndexes } from './tenant-index';

export interface SelectDependencies extends ReadDependencies {
  readonly indexes: Pick<TenantIndexes, 'of'>;
  readonly hostLabels: Pick<HostLabels, 'of'>;
  readonly memo: SourceMemo;
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
interface FoundSource extends Omit<SourceSeries, 'layouts'> {
  readonly sourceId: Id;
  /** The layouts that have the series, where the index told them. */
  readonly layouts?: SourceSeries['layouts'];
  /** All that the catalogue has of it, where it was asked already. */
  readonly known?: SourceCatalogue;
  /** Of the series, where it is known already. */
  readonly layout?: Layout;
}

/** Sources read at a time. Those of a partition share their requests of memory. */
const PARALLEL = 1_000;
/** Sources whose catalogue is read at a time, or what has left memory: each takes a request or two. */
const PARALLEL_REQUESTS = 32;

/**
 * Reads a tenant's series by matchers: the port for every protocol that reads. Selections that begin together share the requests that they
 * have in common.
 */
export class Querier {
  private readonly reads: SourceReads;
  private readonly changes = new SharedCalls<Changes>();
  private readonly catalogues = new SharedCalls<SourceCatalogue>();

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
    const { dependencies, tenant } = this;
    const joined = hints.source === undefined ? await dependencies.hostLabels.of(tenant.id) : NOTHING_JOINED;
    const source = hints.source ?? hostNamedBy(matchers);
    const changes = source === undefined ? this.recentChanges() : undefined;
    // Whoever awaits it sees its failure.
    changes?.catch(() => {});
    const sources: readonly FoundSource[] =
      source === undefined
        ? dependencies.memo.selections.of(tenant.id, await this.view(range, budget), matchers, budget.limits)
        : [await this.findOf(source, matchers, joined, budget)];
    budget.takeSeries(
      sources.reduce((sum, { series }) => sum + series.length, 0),
      matchers,
    );
    await hints.check?.({
      series: sources.flatMap(({ series }) => series),
      firstMs: sources.reduce(
        (first, { known }) => Math.min(first, known?.firstMs ?? range.fromMs),
        Infinity,
      ),
    });
    const wanted = await mapLimited(
      sources.filter(({ series }) => series.length > 0),
      PARALLEL_REQUESTS,
      async (found) => {
        budget.check();
        return { ...found, known: found.known ?? (await this.knownOf(found, (await changes!).sources)) };
      },
    );
    const limited = limiter(PARALLEL_REQUESTS);
    const beyondMemory: Limiter = (work) =>
      limited(async () => {
        budget.check();
        return work();
      });
    const readings = await mapLimited(
      wanted,
      PARALLEL,
      async ({ source, series, known, layout = layoutOf(series) }) => {
        budget.check();
        const asked = { source, wanted: layout, range, known, beyondMemory, steps: hints.steps };
        const reading = await this.reads.read(asked, hints.allowsMissing);
        budget.takeSamples(sampleCount(reading.block), matchers);
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
    const [indexed, joined] = await Promise.all([
      this.recentChanges().then(({ index }) => this.dependencies.indexes.of(this.tenant.id, range, index)),
      this.dependencies.hostLabels.of(this.tenant.id),
    ]);
    const version = `${indexed.version} ${joined.version}`;
    return { ...indexed, joined, version, spend: (steps) => budget.spend(steps) };
  }

  /** Reads the catalogue of one source, which knows its newest series. */
  private async findOf(
    source: Labels,
    matchers: readonly Matcher[],
    joined: JoinedLabels,
    budget: ReadBudget,
  ): Promise<FoundSource> {
    const sourceId = sourceIdOf(this.tenant.id, source);
    const added = joinedTo(source, joined);
    const isMatch = seriesTest(matchers, (steps) => budget.spend(steps));
    const known = await this.catalogueOf(sourceId);
    const series = seriesOf(known).filter((labels) => isMatch(withJoined(labels, added)));
    return { source, sourceId, series, known };
  }

  /** A source's catalogue, read only if it has changed since it was read last. */
  private async knownOf(
    { sourceId, layouts = [] }: FoundSource,
    changes: ReadonlyMap<Id, string>,
  ): Promise<SourceCatalogue> {
    const { memo, now } = this.dependencies;
    const readMs = now();
    const current = memo.current(sourceId, layouts, changes, readMs);
    if (current !== undefined) return current;
    const catalogue = await this.catalogueOf(sourceId);
    memo.keep(sourceId, { catalogue, changes, readMs });
    return catalogue;
  }

  private catalogueOf(sourceId: Id): Promise<SourceCatalogue> {
    return this.catalogues.ask(sourceId, () => this.dependencies.catalogue.source(this.tenant.id, sourceId));
  }

  private recentChanges(): Promise<Changes> {
    return this.changes.ask('', () => this.dependencies.catalogue.changes.recent(this.tenant.id));
  }
}

/** All series that have a host lie with it. */
function hostNamedBy(matchers: readonly Matcher[]): Labels | undefined {
  const named = matchers.find(({ label, op }) => label === 'host' && op === '=');
  return named?.op === '=' && named.value !== '' ? sourceOf.host(named.value) : undefined;
}
